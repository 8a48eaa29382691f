/** Compiles the `input` of pipeline.yaml, from which each row makes what its job is sent. */
import { randomUUID } from 'node:crypto';
import {
  bytesSent,
  type FileFilter,
  fileText,
  filesIn,
  reservedKeyIn,
  type SentFile,
} from '../core/file-text.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { tooLarge, FileProblem, type DescribeFile } from '../files/sent-files.ts';
import { compileTemplate, TemplateError, type Template } from './template.ts';

export interface InputTemplate {
  /** The input as JSON, with its placeholders, after variables were replaced. */
  text: string;
  /** True if it reads files, so that the same list may make other scenes. */
  sendsFiles: boolean;
  /** Columns that the input uses, and the path of the value that uses each. */
  columns: { name: string; path: (string | number)[] }[];
  /** Makes the input of a row. `known`: a recorded file, not read again. Throws `TemplateError`. */
  render(columns: JsonObject, known?: SentFile): JsonObject;
}

type Render = (row: JsonObject, known?: SentFile) => JsonValue;

interface Leaf {
  path: (string | number)[];
  template: Template;
}

/** Calls `report` with the path, from `root`, of a value that cannot be compiled. Without `files`, none is sent. */
export function compileInput(
  input: JsonObject,
  report: (path: (string | number)[], text: string) => void,
  files?: InputFiles,
  root: (string | number)[] = ['input'],
): InputTemplate {
  const leaves: Leaf[] = [];
  const canUpload = files?.canUpload === true;
  const compileText = (text: string, path: (string | number)[]): Render => {
    try {
      const template = compileTemplate(text);
      if (template.names.length > 0) leaves.push({ path, template });
      if (filtersIn(text).includes('upload') && !canUpload) throw new TemplateError(noUploads);
      return files !== undefined && sendsFiles(text)
        ? fileRenderer(template, files)
        : plainRenderer(template, canUpload);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      report(path, error.message);
      return () => text;
    }
  };
  const reserved = reservedKeyIn(input, canUpload);
  if (reserved !== undefined) report(root, `the key ${reserved} is reserved; choose another`);
  const render = compileValue(input, root, compileText) as (row: JsonObject, known?: SentFile) => JsonObject;
  const described = describingLeaves(leaves);
  const text = JSON.stringify(input);
  const isSending = sendsFiles(text);
  return {
    text,
    sendsFiles: isSending,
    columns: leaves.flatMap(({ path, template }) => template.names.map((name) => ({ name, path }))),
    render: (row, known) => {
      const rendered = render(row, known);
      for (const leaf of described) assertDescribed(rendered, leaf, row, root.length);
      if (files !== undefined && isSending) assertFits(rendered, files.maxBytes, known);
      return rendered;
    },
  };
}

/** Refuses values of a list that look like a file that the template sends. */
function plainRenderer({ render }: Template, canUpload: boolean): Render {
  return (row) => withoutReserved(render(row), canUpload);
}

function withoutReserved(value: JsonValue, canUpload: boolean): JsonValue {
  const reserved = reservedKeyIn(value, canUpload);
  if (reserved !== undefined) throw new TemplateError(`the key ${reserved} is reserved and cannot be sent`);
  return value;
}

/** Files within the input are sent together. Uploaded files are sent one by one. */
function assertFits(input: JsonObject, maxBytes: number, picture: SentFile | undefined): void {
  const files = filesIn(input, 'file_base64');
  const bytes = files.reduce((sum, file) => sum + bytesSent(file, 'file_base64'), 0);
  const what = `what it sends in ${files.length} files`;
  if (bytes > maxBytes)
    throw new TemplateError(tooLarge(what, bytes, maxBytes, 'file_base64') + otherWay(picture));
  const large = filesIn(input, 'upload').find((file) => file.bytes > maxBytes);
  if (large !== undefined)
    throw new TemplateError(tooLarge(JSON.stringify(large.path), large.bytes, maxBytes, 'upload'));
}

/** Returns how a stage sends a large picture or clip of the batch before. Empty for other files. */
function otherWay(picture: SentFile | undefined): string {
  if (picture === undefined) return '';
  const address = 'send its address, if the service can read the bucket: {{ picture }}';
  return picture.path.startsWith('s3://')
    ? `. Or ${address}`
    : `. Or keep the pictures of the batch before in a bucket (\`output.pictures\`), and ${address}`;
}

/** Returns the input if `input` is not set: the column `scene` or `prompt` in any case, under that key. */
export function defaultInput(columns: string[]): JsonObject | undefined {
  for (const key of ['scene', 'prompt']) {
    const column = columns.find((name) => name === key) ?? columns.find((name) => name.toLowerCase() === key);
    if (column !== undefined) return { [key]: `{{ [${JSON.stringify(column)}] }}` };
  }
  return undefined;
}

function compileValue(
  value: JsonValue,
  path: (string | number)[],
  compileText: (text: string, path: (string | number)[]) => Render,
): Render {
  if (typeof value === 'string') return compileText(value, path);
  if (Array.isArray(value)) {
    const items = value.map((item, i) => compileValue(item, [...path, i], compileText));
    return (row, known) => items.map((item) => item(row, known));
  }
  if (!isJsonObject(value)) return () => value;
  const entries = Object.entries(value).map(
    ([key, item]) => [key, compileValue(item, [...path, key], compileText)] as const,
  );
  return (row, known) => Object.fromEntries(entries.map(([key, item]) => [key, item(row, known)]));
}

/** Returns the values that describe the scene: those with such a name, otherwise the first that uses a column. */
function describingLeaves(leaves: Leaf[]): Leaf[] {
  const named = leaves.filter(({ path }) => isDescribing(String(path.at(-1))));
  return named.length > 0 ? named : leaves.slice(0, 1);
}

function isDescribing(name: string): boolean {
  return ['scene', 'prompt'].includes(name.toLowerCase());
}

/** Throws if the description is empty, words around an empty column aside: the row asks for nothing. */
function assertDescribed(
  input: JsonObject,
  { path, template }: Leaf,
  row: JsonObject,
  rootLength: number,
): void {
  const rendered = path.slice(rootLength).reduce<unknown>((inner, key) => (inner as JsonObject)[key], input);
  if (isEmpty(rendered)) throw new TemplateError(`the ${String(path.at(-1))} is empty`);
  // Filters and tags may handle an empty column, for example with a default.
  if (!template.isPlain || template.names.length === 0) return;
  const named = template.names.filter(isDescribing);
  const columns = named.length > 0 ? named : template.names;
  if (columns.every((name) => isEmpty(row[name]))) {
    throw new TemplateError(`the column ${columns.join(', ')} is empty`);
  }
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && value.trim() === '');
}

export interface InputFiles {
  describe: DescribeFile;
  /** Maximum bytes of the files of one scene, as base64, and of each uploaded file. */
  maxBytes: number;
  /** True if the service takes uploaded files. */
  canUpload?: boolean;
}

/** True if a template, or a JSON text with templates, has a filter that sends files. */
export function sendsFiles(template: string): boolean {
  return filtersIn(template).length > 0;
}

function filtersIn(template: string): string[] {
  const found = template.matchAll(/\{[{%](?:(?![%}]\})[^])*?\|\s*(file_base64|upload)\b/g);
  return [...found].map(([, filter = '']) => filter);
}

const noUploads =
  'upload works only in `endpoint.set` of ComfyUI; other services are sent files within the input: {{ photo | file_base64 }}';

/** A text that no list can contain, so that no row can insert a file. */
const mark = randomUUID();
const marks = new RegExp(`${mark}:(\\d+);`);

/** Throws `TemplateError` if the folder is not a text in quotation marks. */
function fileRenderer({ text, render }: Template, { describe, canUpload = false }: InputFiles): Render {
  // If a column could name the folder, a list could read any folder of this machine.
  const [, filter] = /\|\s*(file_base64|upload)\s*:\s*[^'"\s]/.exec(text) ?? [];
  if (filter !== undefined)
    throw new TemplateError(`write the folder of ${filter} in quotes: {{ photo | ${filter}: "photos" }}`);
  return (row, known) => {
    const taken: Taken[] = [];
    const value = render(row, (path, folder, by) => {
      const isKnown = known !== undefined && path === known.path;
      taken.push({ by, file: isKnown ? known : sentFile(describe, path, folder, by) });
      return `${mark}:${taken.length - 1};`;
    });
    return taken.length === 0 ? withoutReserved(value, canUpload) : putIn(value, taken);
  };
}

interface Taken {
  file: SentFile;
  by: FileFilter;
}

function sentFile(describe: DescribeFile, path: unknown, folder: unknown, by: FileFilter): SentFile {
  if (typeof path !== 'string' || path.trim() === '')
    throw new TemplateError(`${by} needs the path of a file`);
  try {
    return describe(path, by, typeof folder === 'string' ? folder : undefined);
  } catch (error) {
    throw error instanceof FileProblem ? new TemplateError(error.message) : error;
  }
}

function putIn(value: JsonValue, taken: Taken[]): JsonObject {
  const uploaded = taken.find(({ by }) => by === 'upload');
  if (uploaded !== undefined) {
    if (value !== `${mark}:0;` || taken.length > 1)
      throw new TemplateError(
        'upload must be the last filter of its placeholder, and the placeholder the whole value',
      );
    return fileText([uploaded.file], 'upload');
  }
  const parts = typeof value === 'string' ? value.split(marks) : [];
  const found = new Set(parts.filter((_, index) => index % 2 === 1));
  if (found.size < taken.length)
    throw new TemplateError('file_base64 must be the last filter of its placeholder');
  const pieces = parts.flatMap((part, index) => (index % 2 === 1 ? (taken[Number(part)]?.file ?? []) : part));
  return fileText(pieces.filter((piece) => piece !== ''));
}
