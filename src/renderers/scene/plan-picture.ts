/** Plans a picture from a prompt and a seed: all things with their places, the view and the light; pure. */
import { nounSet } from '../language/nouns.ts';
import type { Season, Camera } from '../language/other-words.ts';
import type { Subject } from '../language/placed-subjects.ts';
import { readPrompt, type Prompt } from '../language/read-prompt.ts';
import { boxOf, type Standing } from './layout/cluster.ts';
import { layOut } from './layout/lay-out.ts';
import { settingOf, type Setting, type Daylight, daylightOf } from './layout/setting-of.ts';
import { thingOf } from './things/catalogue.ts';
import { type Bounds, joined, sizeOf, cornersOf } from './things/parts.ts';
import { mean, type Vector, toward, plus, times, across, minus, dot } from './vector.ts';
import { createRandom } from '../random.ts';

export interface PicturePlan {
  prompt: Prompt;
  things: Standing[];
  setting: Setting;
  daylight: Daylight;
  view: View;
  box: Bounds;
  seed: string;
}

export function planPicture(text: string, seed: number, aspect: number): PicturePlan {
  const prompt = readPrompt(text);
  const setting = settingOf(prompt, String(seed));
  const subjects = prompt.subjects.map((subject) => inSeason(subject, prompt.season));
  const things = layOut(subjects, String(seed));
  const box = things.length > 0 ? boxOf(things) : emptyBox;
  const sitter = prompt.camera === 'portrait' ? headOf(subjects, things) : null;
  const isIndoors = setting.ground === 'studio';
  const isTabletop = subjects.every(
    ({ noun }) => (isIndoors && noun === 'label') || thingOf(noun).home === 'table',
  );
  const view = viewOf(
    sitter !== null ? [sitter] : things.length > 0 ? things.map(({ bounds }) => bounds) : [emptyBox],
    things.length === 0 && prompt.camera === 'usual' ? 'low' : prompt.camera,
    aspect,
    isTabletop && things.length > 0,
    String(seed),
  );
  return {
    prompt,
    things,
    setting,
    daylight: daylightOf(setting, prompt.time !== null, view.facing, String(seed)),
    view,
    box,
    seed: String(seed),
  };
}

/** Bounds if the prompt names no thing, so that the place itself fills the picture. */
const emptyBox: Bounds = { low: [-3.4, 0, -3], high: [3.4, 5.6, 3] };

/** Bounds of head and shoulders of the first thing with a face; null if none has one. */
function headOf(subjects: readonly Subject[], things: readonly Standing[]): Bounds | null {
  const sitter = things.find(({ subject }) => faces.has(subjects[subject]?.noun ?? 'house'));
  if (sitter === undefined) return null;
  const { low, high } = sitter.bounds;
  const noun = subjects[sitter.subject]?.noun ?? 'person';
  const [tall, middle] = [high[1] - low[1], mean(low, high)];
  const bust = tall * (noun === 'statue' ? 0.23 : 0.29);
  const half = bust * 0.42;
  // Heads of animals are at their right.
  return uprights.has(noun)
    ? {
        low: [middle[0] - half, high[1] - bust, middle[2] - half],
        high: [middle[0] + half, high[1], middle[2] + half],
      }
    : { low: [middle[0] + (high[0] - middle[0]) * 0.1, low[1] + tall * 0.42, low[2]], high };
}

const uprights = nounSet('person woman grandmother grandfather robot snowman statue owl penguin');
const faces = new Set([
  ...uprights,
  ...nounSet(
    'cat dog fox horse unicorn zebra cow pig sheep bear panda tiger lion elephant giraffe rabbit turtle bird swan',
  ),
]);

/** Colours of leaves and blossoms. */
const seasonColours = { autumn: 'orange', spring: 'pink' } as const satisfies Record<Season, string>;

function inSeason(subject: Subject, season: Season | null): Subject {
  const isLeafy = subject.noun === 'tree' || subject.noun === 'oak';
  if (season === null || !isLeafy || subject.colours.length > 0) return subject;
  return { ...subject, colours: [seasonColours[season]] };
}

export interface View {
  from: Vector;
  to: Vector;
  /** Vertical angle, in degrees. */
  fieldOfView: number;
  /** Rotation of the camera around y, in radians. */
  facing: number;
}

const fieldOfView = 30;

const fill: Partial<Record<Camera, number>> = { near: 1.15, far: 0.5 };

const usualFill = 0.9;

function viewOf(
  boxes: readonly Bounds[],
  camera: Camera,
  aspect: number,
  isTabletop: boolean,
  seed: string,
): View {
  const random = createRandom(`view ${seed}`);
  const box = boxes.reduce(joined);
  const [, tall, deep] = sizeOf(box);
  // Deep arrangements, such as rows, are seen from higher up.
  const depth = Math.max(0, Math.min(1, (deep / tall - 1) / 2));
  const usual = isTabletop
    ? random.between(0.27, 0.36) + 0.16 * depth
    : random.between(0.13, 0.2) + 0.12 * depth;
  const up = camera === 'high' ? 0.95 : camera === 'low' ? 0.03 : usual;
  // A view from the side would hide things that stand behind the gaps of others.
  const turn = camera === 'side' ? 0 : boxes.length > 1 ? 0.25 : 1;
  const facing = turn * random.between(0.12, 0.34) * (random.chance(0.5) ? 1 : -1);
  const back = toward(facing, up);
  const { low, high } = box;
  const [x, , z] = mean(low, high);
  const to: Vector = [x, low[1] + tall * 0.48, z];
  const half = Math.tan((fieldOfView * Math.PI) / 360) * (fill[camera] ?? usualFill);
  const corners = boxes.flatMap(cornersOf);
  let distance = 0.5;
  while (distance < 400 && !isInside(corners, to, back, distance, aspect, half)) distance *= 1.02;
  const from = plus(to, times(back, distance));
  return { from: [from[0], Math.max(0.05, from[1]), from[2]], to, fieldOfView, facing };
}

function isInside(
  corners: readonly Vector[],
  to: Vector,
  back: Vector,
  distance: number,
  aspect: number,
  half: number,
): boolean {
  const [right, above] = across(back);
  return corners.every((corner) => {
    const point = minus(corner, to);
    const reach = half * (distance - dot(point, back));
    return (
      reach > half * 0.1 &&
      Math.abs(dot(point, right)) < reach * aspect &&
      Math.abs(dot(point, above)) < reach
    );
  });
}
