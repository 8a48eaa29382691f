/** What a picture says of itself, for people or as one JSON object. */
import { withFilesNamed } from '../runner/core/file-text.ts';
import type { InspectedPicture } from '../runner/core/picture.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { writeOut } from './console.ts';
import { harmless, harmlessLines } from './fit-text.ts';
import { writeJsonLine } from './json-lines.ts';

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
