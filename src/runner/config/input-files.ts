/** The files that `{{ column | file_base64 }}` sends: described when the row is read, and put in when its job is sent. */
import { randomUUID } from 'node:crypto';
import { fileText, type SentFile } from '../core/file-text.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { FileProblem, type DescribeFile } from '../files/describe-file.ts';
import { TemplateError, type Template } from './template.ts';

export interface InputFiles {
  describe: DescribeFile;
  /** The most that the files of one scene may take as base64. */
  maxBytes: number;
}

export function sendsFiles(template: string): boolean {
  return /\|\s*file_base64\b/.test(template);
}

/** A word that no list can know: its rows are no part of the text that files are put into. */
const mark = randomUUID();
const marks = new RegExp(`${mark}:(\\d+);`);

/** Throws `TemplateError` where the folder is not written out. */
export function fileRenderer(
  { text, render }: Template,
  { describe }: InputFiles,
): (row: JsonObject) => JsonValue {
  // Were it a column, a list could name any folder of this machine.
  if (/\|\s*file_base64\s*:\s*[^'"\s]/.test(text))
    throw new TemplateError(
      'the folder of file_base64 is written out in quotes: {{ photo | file_base64: "photos" }}',
    );
  return (row) => {
    const taken: SentFile[] = [];
    const value = render(row, (path, folder) => {
      taken.push(described(describe, path, folder));
      return `${mark}:${taken.length - 1};`;
    });
    return taken.length === 0 ? value : putIn(value, taken);
  };
}

function described(describe: DescribeFile, path: unknown, folder: unknown): SentFile {
  if (typeof path !== 'string' || path.trim() === '')
    throw new TemplateError('file_base64 needs the path of a file, and there is none');
  try {
    return describe(path, typeof folder === 'string' ? folder : undefined);
  } catch (error) {
    throw error instanceof FileProblem ? new TemplateError(error.message) : error;
  }
}

function putIn(value: JsonValue, taken: SentFile[]): JsonObject {
  const parts = typeof value === 'string' ? value.split(marks) : [];
  const found = new Set(parts.filter((_, index) => index % 2 === 1));
  if (found.size < taken.length)
    throw new TemplateError('file_base64 has to be the last filter of its placeholder');
  const pieces = parts.flatMap((part, index) => (index % 2 === 1 ? (taken[Number(part)] ?? []) : part));
  return fileText(pieces.filter((piece) => piece !== ''));
}
