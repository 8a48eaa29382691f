/** `nightrender inspect`: what a picture says of itself. */
import { ConfigError } from '../lib/yaml/problem.ts';
import { inspectPicture } from '../runner/images/inspect-picture.ts';
import { refuse } from './refusal.ts';
import { type LoadedCommand, common } from './command.ts';
import { textIn } from './option-values.ts';
import { withFilesNamed } from '../runner/core/file-text.ts';
import type { InspectedPicture } from '../runner/core/picture.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { writeOut } from '../terminal/console.ts';
import { harmless, harmlessLines } from '../terminal/fit-text.ts';
import { writeJsonLine } from '../terminal/json-lines.ts';

export const inspectCommand: LoadedCommand = {
  purpose: `Prints size, format and provenance of a picture, from its own metadata (output.metadata: embed) or its JSON sidecar. Also prints texts that other programs wrote into a PNG.`,
  positionals: { picture: { type: 'string', demandOption: true, describe: 'a PNG, or any other picture' } },
  options: { json: { type: 'boolean', describe: 'as one JSON object' } },
  examples: [
    ['$0 inspect renders/images/harbour.png', 'its prompt, inputs, seed and job'],
    ['$0 inspect harbour.png --json', 'for a script'],
  ],
  exits: { bug: common.bug, complete: 'printed', 'wrong-use': 'wrong use, or no picture' },
  work: (argv) => inspect(textIn(argv, 'picture'), argv),
};

/** Resolves to the exit code. */
async function inspect(file: string, argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  try {
    const inspected = await inspectPicture(file);
    if ('problem' in inspected) throw new ConfigError([{ where: file, text: inspected.problem }]);
    printInspected(file, inspected, json);
    return 0;
  } catch (thrown) {
    return refuse(thrown, undefined, json);
  }
}

export function printInspected(file: string, picture: InspectedPicture, json: boolean): void {
  if (json) return writeJsonLine('picture', { file, ...picture });
  for (const line of describe(file, picture)) writeOut(line);
}

function describe(file: string, picture: InspectedPicture): string[] {
  const { format, width, height, bytes, provenance, texts } = picture;
  const head = `${harmless(file)}: ${format.toUpperCase()}, ${width} × ${height} pixels, ${bytes.toLocaleString('en')} bytes`;
  return [
    head,
    ...(provenance === null ? ['No provenance found.'] : describeProvenance(provenance, picture)),
    ...texts.flatMap(({ keyword, text }) => ['', `${harmless(keyword)}:`, ...indented(text)]),
  ];
}

function describeProvenance(provenance: JsonObject, { from, isOfThisPicture }: InspectedPicture): string[] {
  const { program, scene, prompt, seed, jobId, endpoint, input } = provenance;
  const { baseUrl, id } = isJsonObject(endpoint ?? null) ? (endpoint as JsonObject) : {};
  const inputs = isJsonObject(input ?? null) ? Object.entries(input as JsonObject) : [];
  const rows: [string, string][] = [
    ['scene', textOf(scene)],
    ['prompt', textOf(prompt)],
    ['seed', textOf(seed)],
    ['job', textOf(jobId)],
    ['endpoint', `${textOf(baseUrl)} ${textOf(id)}`.trim()],
    ['program', textOf(program)],
    ['source', from === 'embedded' ? 'the picture itself' : 'its JSON sidecar'],
    ...inputs.map(([name, value]): [string, string] => [`input ${name}`, textOf(value)]),
  ];
  const shown = rows.filter(([, text]) => text !== '');
  const width = Math.max(...shown.map(([name]) => name.length));
  const other = 'The sidecar belongs to another picture: this one was changed or replaced.';
  return [
    ...shown.flatMap(([name, text]) => row(name.padEnd(width), text)),
    ...(isOfThisPicture === false ? [other] : []),
  ];
}

function row(name: string, text: string): string[] {
  const [first = '', ...rest] = harmlessLines(text).split('\n');
  return [`  ${harmless(name)}  ${first}`, ...rest.map((line) => `${' '.repeat(name.length + 4)}${line}`)];
}

function indented(text: string): string[] {
  return harmlessLines(text)
    .split('\n')
    .map((line) => `  ${line}`);
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  const shown = withFilesNamed(value);
  return typeof shown === 'string' ? shown : JSON.stringify(shown);
}
