/** A batch with something of everything to look at: saved, failed twice, invalid, in more than one language. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderWith, inProcess, pipeline, small } from './cli.ts';

const list = [
  'id,scene,style',
  'harbour,"A harbour at dawn",oil',
  '夜の港,"夜の港に船が三隻",ink',
  'loud,"Hills \u001b[31mred\u001b[0m\u0007\nand a second line",oil',
  ',,oil',
  'lighthouse,"A lighthouse, seen from far",oil',
].join('\n');

/** The folder with pipeline.yaml and out; `harbour` and `夜の港` are saved, `loud` and `lighthouse` failed, a row is bad. */
export async function lookedAtBatch(): Promise<string> {
  made ??= await make();
  const cwd = folderWith({});
  cpSync(made, cwd, { recursive: true, preserveTimestamps: true });
  return cwd;
}

/** The one that all are copies of: it is rendered once a process. */
let made: string | undefined;

async function make(): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), 'nightrender-looked-at-'));
  process.once('exit', () => rmSync(cwd, { recursive: true, force: true }));
  const skip = `${small}skipBadRows: true\n`;
  const strict = `${skip}retry: {attempts: 2, firstWait: 1ms}\ncheck: {minSide: 9000}\n`;
  writeFileSync(join(cwd, 'scenes.csv'), `${list}\n`);
  writeFileSync(join(cwd, 'pipeline.yaml'), pipeline('local', strict));
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  writeFileSync(join(cwd, 'pipeline.yaml'), pipeline('local', skip));
  await inProcess(['retry', 'pipeline.yaml', '--id', 'harbour', '--id', '夜の港'], { cwd });
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  return cwd;
}
