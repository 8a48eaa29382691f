/** Says which test files belong to which tier, for vitest.config.ts. Paths are from the root of the project. */
import { readdirSync, readFileSync } from 'node:fs';

export const tests = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`);

/**
 * Files that need a browser, containers, a database server, a bucket or a GPU, or that take long. `npm test` leaves
 * them out, and `npm run test:all` adds them (`--mode rest`).
 */
export const rest = [
  ...tests.filter((file) => /^test\/(web|foreign|attacks)\/[^/]+$/.test(file)),
  'test/web/console/console.test.ts',
  'test/web/gallery/batch-marks.test.ts',
  'test/web/gallery/clips.test.ts',
  'test/web/gallery/compared.test.ts',
  'test/web/gallery/gallery.test.ts',
  'test/web/gallery/marks.test.ts',
  'test/web/gallery/live-page.test.ts',
  'test/service/workloads/blender-workload.test.ts',
  'test/runner/client/large-clips.test.ts',
  'test/e2e/blender.test.ts',
  'test/e2e/boxes.test.ts',
  'test/e2e/chaos.test.ts',
  'test/e2e/comfyui-boxes.test.ts',
  'test/e2e/comfyui-itself.test.ts',
  'test/e2e/disk-faults.test.ts',
  'test/e2e/image.test.ts',
  'test/e2e/library.test.ts',
  'test/e2e/packed.test.ts',
  'test/e2e/reverse-proxy.test.ts',
  'test/e2e/pasted-commands.test.ts',
  'test/e2e/serve-containers.test.ts',
  'test/e2e/watch-status.test.ts',
  'test/service/workloads/container-pull.test.ts',
  'test/service/workloads/container-workload.test.ts',
  ...filesWith(/\/engines\//),
];

/** Files of which `npm test` runs a part, as much as `fakes/tier.ts` has time for. */
export const whole = filesWith(/\/fakes\/tier\.ts'/);

/**
 * Tests of the main path, each step in its shortest realistic form. They may be slow in `npm test`, and take 60 s in
 * all.
 */
export const road = [
  'test/e2e/kill.test.ts',
  'test/e2e/lost-answers.test.ts',
  'test/e2e/other-services.test.ts',
  'test/e2e/comfyui.test.ts',
  'test/e2e/stages.test.ts',
  'test/e2e/export.test.ts',
  'test/e2e/signals.test.ts',
  'test/e2e/serve.test.ts',
  'test/service/kill-under-load.test.ts',
  'test/readme.test.ts',
];

/**
 * Files that run first in `npm run test:rest`, because each takes minutes. Vitest orders the others by the time that they
 * took before, such as in `npm test`, or by size, so a short file with many cases may be left alone at the end. Files that compute
 * alternate with files that wait.
 */
export const longest = [
  'test/runner/pipeline/kill-at-every-call.test.ts',
  'test/runner/pipeline/random-refusals.test.ts',
  'test/e2e/submit-to-slurm.test.ts',
  'test/runner/pipeline/load.test.ts',
  'test/e2e/shared-cuts.test.ts',
  'test/simulation/damage-sweep.test.ts',
  'test/e2e/shared-kills.test.ts',
  'test/simulation/nights.test.ts',
  'test/e2e/mount-kills.test.ts',
  'test/runner/pipeline/kill-at-every-call-shared.test.ts',
  'test/e2e/kill.test.ts',
  'test/runner/pipeline/edited-back.test.ts',
  'test/e2e/shared-service.test.ts',
  'test/runner/pipeline/found-submissions.test.ts',
  'test/e2e/disk-faults.test.ts',
  'test/runner/pipeline/repeated-submissions.test.ts',
  'test/runner/client/large-clips.test.ts',
  'test/runner/pipeline/kill-in-a-chain.test.ts',
  'test/e2e/blender.test.ts',
  'test/e2e/bucket.test.ts',
  'test/e2e/shared-checkpoint.test.ts',
  'test/runner/checkpoint/postgres-checkpoint.test.ts',
  'test/e2e/in-the-way.test.ts',
  'test/e2e/export.test.ts',
  'test/e2e/slurm-workers.test.ts',
  'test/e2e/packed.test.ts',
  'test/e2e/chaos.test.ts',
  'test/runner/pipeline/disk-at-every-call.test.ts',
  'test/e2e/starts.test.ts',
  'test/web/gallery/live-page.test.ts',
  'test/e2e/recipes.test.ts',
  'test/e2e/local-results.test.ts',
  'test/e2e/work.test.ts',
  'test/service/kill-under-load.test.ts',
  'test/renderers/scene/draw.test.ts',
  'test/web/gallery/gallery.test.ts',
];

/**
 * Files whose results depend on the disk: kills during an fsync, and the order and errors of its calls. In `.ci/run`
 * they write to the disk in both tiers. There, all other files do so only in `npm test`.
 */
export const onDisk = [
  'test/attacks/backup.test.ts',
  'test/attacks/serve-full-disk.test.ts',
  'test/e2e/chaos.test.ts',
  'test/e2e/disk-faults.test.ts',
  'test/e2e/disk.test.ts',
  'test/e2e/fsync-order.test.ts',
  'test/e2e/half-done.test.ts',
  'test/e2e/kill.test.ts',
  'test/e2e/local-results.test.ts',
  'test/e2e/lost-answers.test.ts',
  'test/e2e/shared-kills.test.ts',
  'test/runner/images/durability.test.ts',
  'test/service/idempotency.test.ts',
  'test/service/jobs/full-disk.test.ts',
  'test/service/kill-under-load.test.ts',
];

/** Files that replace whole modules, which affects the rest of their process. */
export const alone = filesWith(/\bvi\.mock\(/);

/** Files with tests that the longer tier leaves to `npm test`. */
export const leftToFirst = filesWith(/\bfirstTier\.(it|describe)\b/);

function filesWith(words: RegExp): string[] {
  return tests.filter((file) => words.test(readFileSync(file, 'utf8')));
}
