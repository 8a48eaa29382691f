/** Reads a service.yaml out of a text, in a folder with a module, a program and a file that is none. */
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

/** With a module, a text, the program `worker` in `bin`, and a workflow as ComfyUI runs it and as its editor has it. */
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

/** `bin/worker` of the file's folder is the only program of PATH. */
export function serviceOf(text: string, given: Given = {}): { settings: ServiceSettings; folder: string } {
  const { folder, file } = writeService(text);
  return {
    settings: readService(file, given.overrides ?? [], { PATH: join(folder, 'bin'), ...given.env }),
    folder,
  };
}

/** Every problem, `line:column: text`, with FOLDER for the file's; none where the file is good. */
export function serviceProblems(text: string, given: Given = {}): string[] {
  const { folder, file } = writeService(text);
  const env = { PATH: join(folder, 'bin'), ...given.env };
  return linesOf(file, () => readService(file, given.overrides ?? [], env)).map((line) =>
    line.replaceAll(folder, 'FOLDER'),
  );
}

/** The problems of one endpoint, without the place and the words that lead to it. */
export function endpointProblemsOf(keys: string, given: Given = {}): string[] {
  return serviceProblems(`endpoints: [{name: A, ${keys}}]`, given).map((line) =>
    line.replace(/^\d+:\d+: (endpoints\[0\][. ])?/, ''),
  );
}
