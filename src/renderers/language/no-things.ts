/** Words that cannot stand in a scene although they are nouns: style, quality, feelings, parts and measures. */
import { wordSet } from './other-words.ts';

const noThings = wordSet(
  // the picture itself: style, quality, requests
  'artwork artist artstation aesthetic anime atmosphere blur bokeh canvas caption closeup collage colour color colours colors composition concept contrast depth design detail details diagram dslr engine fantasy film flare grain focus font frame gouache graphic hdr highlight highlights image ink layout lens letter letters light lighting lights line lines masterpiece medium mode mood motion motif octane oil palette pastel pattern pencil perspective photography pixar pixel quality realism resolution scan scale shading shape shapes sharpness still symbol technique text texture theme tone unreal vibe vignette watercolor watercolour wallpaper word words writing ' +
    'best beautiful cinematic detailed dramatic epic hyperrealistic photorealistic realistic stunning surreal vivid ultra high low full imagine generate create draw make show please ' +
    // descriptions and connecting words
    'about after again all alone also asleep away awake because deep down fast nearby opaque outside sat stood thick another any around as but can could day did do does drawn few from get gets give gives go goes going got had has have he him how i if just like look looks looms lots me made make makes many may might more most my no not off only other others our out painted saying shaped she shines shown so some stuck such take takes than them then they this together too up upside us very was we what when where which who why will without would writes written une you your ' +
    // feelings and ideas
    'anger art beauty chaos comfort courage death despair dream dreams emotion emotions energy entropy eternity faith fear feeling feelings freedom friendship fun future grief harmony hope humor idea ideas infinity intelligence joy justice kindness knowledge life loneliness love luck magic memory mind mystery nature nostalgia past peace power present pride progress reality sadness sense serenity silence sorrow soul spirit strength success time truth victory war wisdom wonder world happy sad angry calm ' +
    // parts, measures, times and places that are not things
    'act action air amount angle area back base beginning bend body bottom bunch case center centre century color corner couple crowd curve dark darkness day days direction distance edge end example expression foreground form front game group ground half horizon heat height hour kind left length lot middle minute moment month name number order outline pair part parts past piece pieces place point pose position race right row second section series set shadow shadows shot side sides silhouette size slice sort source space species speed surface team top type use variety version way week weight whole width wild year years',
);

/** Parts of the thing that they are said of. They only count as things if nothing else is named. */
const bodyParts = wordSet(
  'arm arms beard beak belly claw claws ear ears eye eyes eyebrows face faces feather feathers finger fingers feet foot fur hair hand hands head heads leg legs lips mane mouth mustache moustache muscle muscles nail neck nose paw paws shoulder shoulders skin smile tail teeth tongue tooth wing',
);

/** States of a thing: "a house built on a cliff", "a castle ablaze". */
const predicates = wordSet(
  'ablaze abandoned adrift afloat afraid aged aglow alight alive alone aloft amused ashore asleep astray awake away awry beaten bent bitten blown bored born bought bound bred broken brought built burnt bust caught chosen clad cut dead done drawn drenched driven drunk dug eaten fallen fed felt flown forgotten forlorn found frozen full given gone grown held hewn hidden hung hurt kept known laid left lit lost made met mown overboard overgrown overrun overthrown paid rapt read ridden risen run seen sent set shaken shattered shorn shot shown shut slain sold spent split spread spun steeped stolen strewn struck stuck sung sunk swept sworn swung taken taught thrown told torn turned undone unseen upset wed woven worn won wound written far near high low',
);

const adjective =
  /.(?:ful|ous|ive|ish|less|able|ible|ed|ing|ic|onal|icial|ical|ental|oyal|tural|ly|esque|like)$/;

/** True if a noun without a shape of its own could stand in a scene. `isFirst`: nothing is named before it. */
export function couldStand(word: string, isFirst: boolean): boolean {
  const isIdea = noThings.has(word) || predicates.has(word) || /(?:ness|ism|.{4}ed)$/.test(word);
  const isLetter = /^\p{N}|^[a-z]$/u.test(word);
  return !isIdea && !isLetter && (isFirst || !bodyParts.has(word));
}

/** True if a word without an article or a number before it can still be a noun. */
export function isBareNoun(word: string): boolean {
  return !adjective.test(word) && !predicates.has(word);
}

export function isPluralForm(word: string): boolean {
  return word.length > 3 && /[^su]s$|sses$/.test(word) && !/(?:is|lens)$/.test(word);
}

const pairs = /(?:glasses|goggles|scissors|pants|trousers|jeans|shorts|binoculars|clothes|headphones)$/;

/** Guesses the singular from the letters. Pairs, such as scissors, stay as they are. */
export function singularOf(word: string): string {
  if (!isPluralForm(word) || pairs.test(word)) return word;
  if (/(?:ss|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('ies') && word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}
