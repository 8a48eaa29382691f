/** Writes a pipeline.yaml into a temporary folder and reads it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach } from 'vitest';
import type { Config } from '../../../src/runner/config/config.ts';
import type { Override } from '../../../src/lib/yaml/yaml-file.ts';
import { ConfigError, type Problem } from '../../../src/lib/yaml/problem.ts';
import { readConfig } from '../../../src/runner/config/read-config.ts';

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nightrender-test-'));
  folders.push(folder);
  return folder;
}

/** Returns a pipeline.yaml with the required keys, followed by `more`, which begins at line 7. */
export function withRequired(more: string): string {
  return `manifest: scenes.csv
endpoint:
  baseUrl: local
  id: scene-renderer
output:
  dir: renders
${more}`;
}

export interface Given {
  env?: NodeJS.ProcessEnv;
  overrides?: Override[];
  /** Other files of the folder: content by name. */
  files?: Record<string, string>;
}

export function writePipeline(text: string | Uint8Array, files: Record<string, string> = {}): string {
  const folder = tempFolder();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const file = join(folder, 'pipeline.yaml');
  writeFileSync(file, text);
  return file;
}

export function configOf(
  text: string | Uint8Array,
  { env = {}, overrides = [], files = {} }: Given = {},
): Config {
  return readConfig(writePipeline(text, files), overrides, env);
}

/**
 * Returns every problem as `line:column: text`, or without a place if it does not belong to one. Returns an
 * empty list for a valid file.
 */
export function problemsOf(
  text: string | Uint8Array,
  { env = {}, overrides = [], files }: Given = {},
): string[] {
  const file = writePipeline(text, files);
  return linesOf(file, () => readConfig(file, overrides, env));
}

export function linesOf(file: string, read: () => unknown): string[] {
  return problemsIn(read).map(({ where, text }) => `${where.replace(`${relative('', file)}:`, '')}: ${text}`);
}

export function problemsIn(read: () => unknown): Problem[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/**
 * Splits a text in which `▸` marks every place where a problem is expected. Returns the text without marks,
 * and the places as `line:column`.
 */
export function marked(textWithMarks: string): { text: string; places: string[] } {
  const places = textWithMarks.split('\n').flatMap((line, index) => {
    const parts = line.split('▸').slice(0, -1);
    return parts.map((_, i) => `${index + 1}:${parts.slice(0, i + 1).join('').length + 1}`);
  });
  return { text: textWithMarks.replaceAll('▸', ''), places };
}

/** Returns the `line:column` of each problem. */
export function placesOf(problems: string[]): string[] {
  return problems.map((problem) => /^\d+:\d+/.exec(problem)?.[0] ?? problem);
}
