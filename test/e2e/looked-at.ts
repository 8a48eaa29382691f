/**
 * A finished batch with all kinds of scenes to display: saved, failed twice, and invalid, with texts in
 * several languages.
 */
import { copyOf, type Night, pipeline, small } from './cli.ts';

const list = [
  'id,scene,style',
  'harbour,"A harbour at dawn",oil',
  '夜の港,"夜の港に船が三隻",ink',
  'loud,"Hills \u001b[31mred\u001b[0m\u0007\nand a second line",oil',
  ',,oil',
  'lighthouse,"A lighthouse, seen from far",oil',
].join('\n');

/**
 * Returns a copy of the batch. `harbour` and `夜の港` are saved, `loud` and `lighthouse` failed, and a row is
 * bad.
 */
export function lookedAtBatch(): Promise<Night> {
  return copyOf('looked-at', make);
}

async function make(night: Night): Promise<void> {
  const skip = `${small}skipBadRows: true\n`;
  const strict = `${skip}retry: {attempts: 2, firstWait: 1ms}\ncheck: {minSide: 9000}\n`;
  night.write('scenes.csv', `${list}\n`);
  night.write('pipeline.yaml', pipeline('local', strict));
  await night.run('--quiet');
  night.write('pipeline.yaml', pipeline('local', skip));
  await night.retry('--id', 'harbour', '--id', '夜の港');
  await night.run('--quiet');
}
