/** Puts files into an input that is about to be sent, if they are what they were when the list was read. */
import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Failure } from '../core/failure.ts';
import { filesIn, withFiles, type SentFile } from '../core/file-text.ts';
import type { JsonObject } from '../../lib/text/json.ts';

/** `base` is the folder of pipeline.yaml. */
export async function fillInFiles(
  input: JsonObject,
  base: string,
): Promise<{ input: JsonObject } | { failure: Failure }> {
  const texts = new Map<string, string>();
  for (const file of filesIn(input)) {
    if (texts.has(file.path)) continue;
    const read = await readSame(resolve(base, file.path), file);
    if ('problem' in read) return { failure: failureOf(file, read.problem) };
    texts.set(file.path, read.text);
  }
  return { input: withFiles(input, ({ path }) => texts.get(path) ?? '') };
}

async function readSame(
  path: string,
  { bytes, sha256 }: SentFile,
): Promise<{ text: string } | { problem: string }> {
  try {
    const stats = await stat(path);
    if (!stats.isFile() || stats.size !== bytes) return { problem: 'is another than' };
    const content = await readFile(path);
    if (hash('sha256', content) !== sha256) return { problem: 'is another than' };
    return { text: content.toString('base64') };
  } catch (error) {
    return { problem: `cannot be read (${String((error as { code?: unknown }).code)}) any more as` };
  }
}

function failureOf({ path }: SentFile, problem: string): Failure {
  const text = `the file ${JSON.stringify(path)} ${problem} when the list was read; nothing was sent. Start anew to have the list read again`;
  return { kind: 'file-changed', text };
}
