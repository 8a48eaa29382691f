/**
 * The peer, a loop that a user would write with the public SDK: `node peer.js URL MANIFEST FOLDER IN_FLIGHT [careful]`.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import runpodSdk from 'runpod-sdk';
import { CarefulLoop } from './careful-loop.ts';

const betweenLooksMs = 1_000;
/** The SDK's default of 3 s is too short for large pictures. */
const timeoutMs = 60_000;

const [url = '', manifest = '', folder = '', inFlight = '', care = ''] = process.argv.slice(2);
const key = process.env['NIGHTRENDER_API_KEY'] ?? '';
const endpoint = runpodSdk(key, { baseUrl: `${url}/v2` }).endpoint('scene-renderer');

await mkdir(folder, { recursive: true });
const [, ...rows] = (await readFile(manifest, 'utf8')).trimEnd().split('\n');
const careful = care === 'careful' ? new CarefulLoop(folder) : undefined;
const limit = pLimit(Number(inFlight));
await Promise.all(rows.map((row) => limit(() => render(row))));

async function render(row: string): Promise<void> {
  const [name = '', scene] = row.split(',');
  const submitted = await untilAnswered(() => endpoint?.run({ input: { scene } }, timeoutMs));
  careful?.submitted(name, submitted?.id ?? '');
  const look = () => untilAnswered(() => endpoint?.status(submitted?.id ?? '', timeoutMs));
  let job = await look();
  while (job?.status === 'IN_QUEUE' || job?.status === 'IN_PROGRESS') {
    await sleep(betweenLooksMs);
    job = await look();
  }
  const { output } = job as unknown as { output: [{ rendered_image: string }] };
  const png = Buffer.from(output[0].rendered_image, 'base64');
  await (careful?.keep(name, png) ?? writeFile(join(folder, `${name}.png`), png));
}

/** Repeats a request until it succeeds. The SDK throws for every other answer, such as 429. */
async function untilAnswered<Answer>(ask: () => Promise<Answer> | undefined): Promise<Answer | undefined> {
  for (;;) {
    try {
      return await ask();
    } catch {
      await sleep(betweenLooksMs);
    }
  }
}
