/** Writes a service.yaml into a temporary folder and reads it. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Override } from '../../../src/lib/yaml/yaml-file.ts';
import { readService, type ServiceSettings } from '../../../src/service/config/read-service.ts';
import { linesOf, tempFolder } from './pipeline-file.ts';

export interface Given {
  env?: NodeJS.ProcessEnv;
  overrides?: Override[];
}

export function writeService(text: string): { folder: string; file: string } {
  const folder = tempFolder();
  const file = join(folder, 'service.yaml');
  writeFileSync(file, text);
  fill(folder);
  return { folder, file };
}

/**
 * Writes a module, a text, the program `bin/worker`, and two ComfyUI workflows: one in API format and one as
 * its editor saves it.
 */
export function fill(folder: string): void {
  writeFileSync(join(folder, 'handler.mjs'), 'export const handler = () => [];\n');
  writeFileSync(join(folder, 'plain.txt'), 'text\n');
  const workflow = {
    3: { class_type: 'KSampler', inputs: { seed: 1 } },
    6: { class_type: 'CLIPTextEncode', inputs: { text: '' } },
  };
  writeFileSync(join(folder, 'flow.json'), JSON.stringify(workflow));
  writeFileSync(join(folder, 'editor.json'), '{"nodes": []}\n');
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'worker'), '#!/bin/sh\n');
  chmodSync(join(folder, 'bin', 'worker'), 0o755);
}

/** Reads a service.yaml. Its PATH contains only `bin/worker` from the folder of the file. */
export function serviceOf(text: string, given: Given = {}): { settings: ServiceSettings; folder: string } {
  const { folder, file } = writeService(text);
  return {
    settings: readService(file, given.overrides ?? [], { PATH: join(folder, 'bin'), ...given.env }),
    folder,
  };
}

/**
 * Returns every problem as `line:column: text`, with FOLDER in place of the temporary folder. Returns an
 * empty list for a valid file.
 */
export function serviceProblems(text: string, given: Given = {}): string[] {
  const { folder, file } = writeService(text);
  const env = { PATH: join(folder, 'bin'), ...given.env };
  return linesOf(file, () => readService(file, given.overrides ?? [], env)).map((line) =>
    line.replaceAll(folder, 'FOLDER'),
  );
}

/** Returns the problems of a single endpoint, without line, column and `endpoints[0]`. */
export function endpointProblemsOf(keys: string, given: Given = {}): string[] {
  return serviceProblems(`endpoints: [{name: A, ${keys}}]`, given).map((line) =>
    line.replace(/^\d+:\d+: (endpoints\[0\][. ])?/, ''),
  );
}
