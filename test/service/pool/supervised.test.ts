/** Promise: a worker that ends again and again is started at growing intervals, and those who run the service are told. */
import { expect, it, onTestFinished } from 'vitest';
import { Supervised } from '../../../src/service/pool/supervised.ts';

it('is excused for an end that was asked for, and not for the one after that', async () => {
  const ends: ((why: string) => void)[] = [];
  const problems: string[] = [];
  const supervised = new Supervised({
    start: async () => ({
      ended: new Promise((resolve) => void ends.push(resolve)),
      stop: async () => undefined,
    }),
    onChange: () => undefined,
    onProblem: (text) => void problems.push(text),
  });
  onTestFinished(() => supervised.stop());
  await supervised.start();
  // Its job was cancelled, which only its end can do.
  supervised.isExcused = true;
  ends.at(-1)?.('exited');
  await expect.poll(() => supervised.state).toBe('stopped');
  expect(problems).toEqual([]);
  await supervised.start();
  ends.at(-1)?.('exited: no memory on the GPU');
  await expect.poll(() => problems).toEqual(['a worker ended: exited: no memory on the GPU']);
});
