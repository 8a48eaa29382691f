/** Promise: Blender in a container has no network, and only the capabilities that its endpoint sets. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { blenderWorkload } from '../../../src/service/workloads/blender-workload.ts';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { folderWith } from '../../e2e/cli.ts';

/** Returns the arguments given to podman. Its container ends at once. */
async function toldBy(capabilities?: string[]): Promise<string> {
  const folder = folderWith({});
  const podman = join(folder, 'podman');
  writeFileSync(podman, `#!/bin/sh\n[ "$1" != run ] || echo "$@" >${folder}/told\nexit 1\n`);
  chmodSync(podman, 0o755);
  const blender = { program: null, assets: null, scripts: null, image: 'me/blender:4' };
  const settings = { ...endpointSettings({ id: 'b' }), blender, capabilities };
  const tool = { kind: 'podman' as const, command: [podman], containerArguments: [] };
  const edges = { url: '', workerKey: '', containerTool: () => Promise.resolve(tool), serviceId: 's' };
  const workload = blenderWorkload(settings, edges);
  await expect(workload.startWorker({ workerId: 'w', log: () => undefined })).rejects.toThrow();
  return readFileSync(join(folder, 'told'), 'utf8');
}

it('a container drops all capabilities except those for writing to its own folder', async () => {
  expect(await toldBy([])).toContain(
    ' --cap-drop=all --cap-add=DAC_OVERRIDE --security-opt=no-new-privileges --pids-limit=4096 --network=none ',
  );
});

it.each([[['default']], [undefined]])(
  'the endpoint leaves the capabilities to the tool with %j',
  async (capabilities) => {
    const told = await toldBy(capabilities);
    expect(told).toContain(' --network=none ');
    expect(told).not.toMatch(/--cap-|--security-opt|--pids-limit/);
  },
);
