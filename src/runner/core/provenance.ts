/** Provenance: the job, prompt and inputs that a picture records about itself, and adoption by that record. */
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { type Endpoint, endpointVersions, type Submitted } from './attempt.ts';
import { promptOf } from './naming.ts';
import type { PictureOutput, SavedPicture } from './picture.ts';
import { readRulesVersion, type RulesVersion, type Scene } from './scene.ts';

export interface Provenance {
  scene: string;
  /** Undefined if the input contains no text. */
  prompt: string | undefined;
  /** Input that was sent to the job, with very long texts cut. */
  input: JsonObject;
  /** Seed in the service's digits. Null if the output contains none. */
  seed: string | null;
  number: number;
  jobId: string;
  endpoint: Endpoint;
  /** Other recorded information from the output. */
  output?: PictureOutput | undefined;
}

/** Longer texts are files in base64 and not text to read. */
const maxCharacters = 16_000;
/** Number of characters kept of a cut text, to identify it. */
const fewCharacters = 100;

export function provenanceOf(
  attempt: Submitted,
  index: number,
  { seed, output }: Pick<SavedPicture, 'seed' | 'output'>,
): Provenance {
  const { sceneId, input, job } = attempt;
  const prompt = promptOf(input, {});
  return {
    scene: sceneId,
    prompt: prompt && cutText(prompt),
    input: cutTexts(input) as JsonObject,
    seed: seed ?? null,
    number: index + 1,
    jobId: job.jobId,
    endpoint: job.endpoint,
    output,
  };
}

function cutTexts(value: JsonValue): JsonValue {
  if (typeof value === 'string') return cutText(value);
  if (Array.isArray(value)) return value.map(cutTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cutTexts(inner)]));
}

function cutText(text: string): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, fewCharacters)}… (${(text.length - fewCharacters).toLocaleString('en')} characters left out)`;
}

/** Increased when older readers would no longer understand the format. */
const formatVersion = 1;

/** Writer of a provenance: `nightrender x.y.z`, and the rules by which the batch reads its lists. */
export interface ProvenanceWriter {
  program: string;
  rules: RulesVersion;
}

export function provenanceJson(provenance: Provenance, { program, rules }: ProvenanceWriter): JsonObject {
  const { scene, prompt = null, input, seed, number, jobId, endpoint, output } = provenance;
  const { baseUrl, id, version } = endpoint;
  return {
    formatVersion,
    program,
    scene,
    prompt,
    input,
    seed,
    number,
    jobId,
    endpoint: { baseUrl, id, version },
    rules,
    ...(output && { output: output as JsonObject }),
  };
}

export type Origin = Pick<
  Provenance,
  'scene' | 'input' | 'seed' | 'number' | 'jobId' | 'endpoint' | 'output'
> &
  Pick<Partial<ProvenanceWriter>, 'rules'>;

/** Reads the JSON of `provenanceJson`. Undefined if it is anything else. */
export function readOrigin(json: unknown): Origin | undefined {
  if (!isJsonObject(json) || json['formatVersion'] !== formatVersion || !isJsonObject(json['endpoint']))
    return undefined;
  const { scene, input, seed, number, jobId } = json;
  const { baseUrl, id, version: word } = json['endpoint'];
  const version = endpointVersions.find((each) => each === word);
  if (typeof scene !== 'string' || typeof number !== 'number' || typeof jobId !== 'string') return undefined;
  if (typeof baseUrl !== 'string' || typeof id !== 'string' || !isJsonObject(input)) return undefined;
  if (version === undefined) return undefined;
  const seedText = typeof seed === 'string' ? seed : null;
  const rules = readRulesVersion(json['rules']);
  const output = readOutput(json['output']);
  const from = { jobId, endpoint: { baseUrl, id, version }, ...(rules !== undefined && { rules }), output };
  return { scene, input, seed: seedText, number, ...from };
}

/** Reads only lists of texts, because anyone may have written the file. */
function readOutput(json: unknown): PictureOutput | undefined {
  if (!isJsonObject(json)) return undefined;
  const { rest, ...others } = json;
  const lists = Object.entries(others).filter(
    ([, list]) => Array.isArray(list) && list.every((text) => typeof text === 'string'),
  );
  return { ...(Object.fromEntries(lists) as PictureOutput), ...(isJsonObject(rest) && { rest }) };
}

/** True if the picture was made from exactly the current input of the scene. */
export function isOriginOf(origin: Origin, scene: { id: string; input: JsonObject }): boolean {
  return origin.scene === scene.id && canonicalJson(origin.input) === canonicalJson(cutTexts(scene.input));
}

/** Names under which picture viewers and other programs show these settings. */
const wellKnown: Readonly<Record<string, string>> = {
  steps: 'Steps',
  num_inference_steps: 'Steps',
  sampler: 'Sampler',
  sampler_name: 'Sampler',
  cfg_scale: 'CFG scale',
  guidance_scale: 'CFG scale',
  model: 'Model',
};

/** Returns the text of `parameters`, as image programs store it: prompts, then a line of names and values. */
export function parametersText(
  { prompt, input, seed, jobId, endpoint }: Provenance,
  size: { width: number; height: number },
  program: string,
): string {
  const negative = input['negative_prompt'];
  const named = new Set<JsonValue | undefined>(['seed', 'negative_prompt', 'width', 'height']);
  const others = Object.entries(input).filter(
    ([key, value]) =>
      !named.has(key) && value !== prompt && ['string', 'number', 'boolean'].includes(typeof value),
  );
  const pairs: [string, string][] = [
    ...others.map(([key, value]): [string, string] => [
      wellKnown[key.toLowerCase()] ?? key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
    ...(seed === null ? [] : [['Seed', seed] satisfies [string, string]]),
    ['Size', `${size.width}x${size.height}`],
    ['Job', jobId],
    ['Endpoint', `${endpoint.baseUrl} ${endpoint.id}`],
    ['Version', program],
  ];
  return [
    ...(prompt === undefined ? [] : [prompt]),
    ...(typeof negative === 'string' && negative !== '' ? [`Negative prompt: ${negative}`] : []),
    pairs.map(([name, value]) => `${name}: ${quotedIfNeeded(value)}`).join(', '),
  ].join('\n');
}

function quotedIfNeeded(value: string): string {
  return /[,\n\r"]/.test(value) ? JSON.stringify(value) : value;
}

/** Fields of a scene that the file name of its picture is made from. */
export type SceneToName = Pick<Scene, 'id' | 'columns' | 'input'>;

export type FoundScene = SceneToName & { sceneKey: number; isWaiting: boolean };

/** Scene whose pictures were found. `jobId` is null if the job is unknown. */
export type AdoptedScene = Pick<FoundScene, 'sceneKey'> & {
  endpoint: Endpoint;
  jobId: string | null;
  pictures: SavedPicture[];
};

/** Undamaged picture that the checkpoint does not know. `origin`: as file or sidecar record it. */
export interface ExaminedPicture {
  picture: SavedPicture;
  /** Name that the picture was given, if the name of its file differs from it. */
  name?: string;
  origin: Origin | undefined;
}
