/** `nightrender inspect`: prints the metadata of pictures. */
import { refuse } from './reply.ts';
import { shellWord } from '../lib/text/format.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { inspectPicture, type Inspection } from '../runner/images/inspect-picture.ts';
import { type LoadedCommand, commonExits } from './command.ts';
import { withFilesNamed } from '../runner/core/file-text.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { writeOut, writeJsonLine } from '../terminal/terminal.ts';
import { escapeControls, escapeControlsByLine } from '../terminal/fit-text.ts';

export const inspectCommand: LoadedCommand = {
  purpose: `Prints size, format and provenance of pictures, each from its own metadata (output.metadata: embed) or its JSON sidecar. Also prints texts that other programs wrote into a PNG.`,
  positionals: { picture: { type: 'string', demandOption: true, describe: 'PNGs, or any other pictures' } },
  options: { json: { type: 'boolean', describe: 'as JSON, a line for each picture' } },
  examples: [
    ['$0 inspect renders/images/harbour.png', 'its prompt, inputs, seed and job'],
    ['$0 inspect renders/images/*.png --json', 'for a script'],
  ],
  exits: { bug: commonExits.bug, complete: 'printed', 'wrong-use': 'wrong use, or a file is no picture' },
  work: (argv) => inspect([argv['picture']].flat().map(String), argv['json'] === true),
};

/** Resolves to the exit code. Files that aren't pictures are reported after all pictures. */
async function inspect(files: string[], json: boolean): Promise<number> {
  const problems: Problem[] = [];
  try {
    for (const [i, file] of files.entries()) {
      const inspected = await inspectPicture(file);
      if ('problem' in inspected) {
        problems.push({ where: file, text: inspected.problem });
        continue;
      }
      if (i > problems.length && !json) writeOut('');
      printInspected(file, inspected, json);
    }
    if (problems.length > 0) throw new ConfigError(problems);
    return 0;
  } catch (thrown) {
    return refuse(thrown, undefined, json, undefined, true);
  }
}

export function printInspected(file: string, picture: Inspection, json: boolean): void {
  if (json) return writeJsonLine('picture', { file, ...picture });
  for (const line of describe(file, picture)) writeOut(line);
}

function describe(file: string, picture: Inspection): string[] {
  const { format, width, height, bytes, provenance, texts } = picture;
  const head = `${escapeControls(file)}: ${format.toUpperCase()}, ${width} × ${height} pixels, ${bytes.toLocaleString('en')} bytes`;
  return [
    head,
    ...(provenance === null ? [withoutProvenance(file)] : describeProvenance(provenance, picture)),
    ...texts.flatMap(({ keyword, text }) => ['', `${escapeControls(keyword)}:`, ...indented(text)]),
  ];
}

/** Advice for a picture without metadata: its checkpoint finds it by its file name. */
function withoutProvenance(file: string): string {
  const explain = escapeControls(`nightrender explain pipeline.yaml ${shellWord(file)}`);
  return `No provenance found. With the pipeline.yaml of its batch, \`${explain}\` shows its scene and job.`;
}

function describeProvenance(provenance: JsonObject, { from, isOfThisPicture }: Inspection): string[] {
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
  const [first = '', ...rest] = escapeControlsByLine(text).split('\n');
  return [
    `  ${escapeControls(name)}  ${first}`,
    ...rest.map((line) => `${' '.repeat(name.length + 4)}${line}`),
  ];
}

function indented(text: string): string[] {
  return escapeControlsByLine(text)
    .split('\n')
    .map((line) => `  ${line}`);
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  const shown = withFilesNamed(value);
  return typeof shown === 'string' ? shown : JSON.stringify(shown);
}
