/** A batch with something of everything to look at: saved, failed twice, invalid, in more than one language. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderWith, inProcess, pipeline } from './cli.ts';

const list = [
  'id,scene,style',
  'harbour,"A harbour at dawn",oil',
  '夜の港,"夜の港に船が三隻",ink',
  'loud,"Hills \u001b[31mred\u001b[0m\u0007\nand a second line",oil',
  ',',
  'lighthouse,"A lighthouse, seen from far",oil',
].join('\n');

/** The folder with pipeline.yaml and out; `harbour` and `夜の港` are saved, `loud` and `lighthouse` failed, a row is bad. */
export async function lookedAtBatch(): Promise<string> {
  const strict = 'skipBadRows: true\nretry: {attempts: 2, firstWait: 100ms}\ncheck: {minSide: 9000}\n';
  const cwd = folderWith({ 'pipeline.yaml': pipeline('local', strict), 'scenes.csv': `${list}\n` });
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  writeFileSync(join(cwd, 'pipeline.yaml'), pipeline('local', 'skipBadRows: true\n'));
  await inProcess(['retry', 'pipeline.yaml', '--id', 'harbour', '--id', '夜の港'], { cwd });
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  return cwd;
}
