/** The peer, what a user would write with the public SDK: `node peer.js URL MANIFEST FOLDER IN_FLIGHT`. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import runpodSdk from 'runpod-sdk';

const betweenLooksMs = 1_000;
/** The SDK's own 3 s are too short for large pictures. */
const timeoutMs = 60_000;

const [url = '', manifest = '', folder = '', inFlight = ''] = process.argv.slice(2);
const key = process.env['NIGHTRENDER_API_KEY'] ?? '';
const endpoint = runpodSdk(key, { baseUrl: `${url}/v2` }).endpoint('scene-renderer');

await mkdir(folder, { recursive: true });
const [, ...rows] = (await readFile(manifest, 'utf8')).trimEnd().split('\n');
const limit = pLimit(Number(inFlight));
await Promise.all(rows.map((row) => limit(() => render(row))));

async function render(row: string): Promise<void> {
  const [name, scene] = row.split(',');
  const submitted = await untilAnswered(() => endpoint?.run({ input: { scene } }, timeoutMs));
  const look = () => untilAnswered(() => endpoint?.status(submitted?.id ?? '', timeoutMs));
  let job = await look();
  while (job?.status === 'IN_QUEUE' || job?.status === 'IN_PROGRESS') {
    await sleep(betweenLooksMs);
    job = await look();
  }
  const { output } = job as unknown as { output: [{ rendered_image: string }] };
  await writeFile(join(folder, `${name}.png`), Buffer.from(output[0].rendered_image, 'base64'));
}

/** The SDK throws whatever is no success, such as 429. */
async function untilAnswered<Answer>(ask: () => Promise<Answer> | undefined): Promise<Answer | undefined> {
  for (;;) {
    try {
      return await ask();
    } catch {
      await sleep(betweenLooksMs);
    }
  }
}
