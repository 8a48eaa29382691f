/** Which files of tests belong to which tier; vitest.config.ts runs them so. Paths are from the root of the project. */
import { readdirSync, readFileSync } from 'node:fs';

export const tests = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`);

/** What needs a browser, containers, a server of a database or a bucket, or a GPU, or takes long: not in `npm test`, but in what `npm run test:all` adds (`--mode rest`). */
export const rest = [
  ...tests.filter((file) => /^test\/(web|foreign|attacks)\/[^/]+$/.test(file)),
  'test/web/console/console.test.ts',
  'test/web/gallery/batch-marks.test.ts',
  'test/web/gallery/compared.test.ts',
  'test/web/gallery/gallery.test.ts',
  'test/web/gallery/marks.test.ts',
  'test/web/gallery/live-page.test.ts',
  'test/service/workloads/blender-workload.test.ts',
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

/** `npm test` does a part of these, as much as `fakes/tier.ts` has time for. */
export const whole = filesWith(/\/fakes\/tier\.ts'/);

/** The road, each step in its shortest honest form: the tests that may be slow in `npm test`. They take 60 s in all. */
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

/** Files that take minutes each in `npm run test:rest`. They run first, so that none of them is left when all others have ended. */
export const longest = [
  'test/runner/pipeline/kill-at-every-call.test.ts',
  'test/runner/pipeline/edited-back.test.ts',
  'test/simulation/nights.test.ts',
  'test/e2e/bucket.test.ts',
  'test/e2e/export.test.ts',
  'test/runner/pipeline/kill-at-every-call-shared.test.ts',
  'test/e2e/shared-kills.test.ts',
  'test/e2e/shared-cuts.test.ts',
  'test/e2e/disk-faults.test.ts',
  'test/e2e/submit-to-slurm.test.ts',
  'test/web/gallery/live-page.test.ts',
  'test/e2e/blender.test.ts',
  'test/e2e/shared-service.test.ts',
  'test/e2e/shared-checkpoint.test.ts',
  'test/runner/checkpoint/postgres-checkpoint.test.ts',
  'test/e2e/mount-kills.test.ts',
  'test/e2e/slurm-workers.test.ts',
  'test/e2e/local-results.test.ts',
  'test/web/gallery/gallery.test.ts',
];

/** They replace whole modules, which lasts as long as the process. */
export const alone = filesWith(/\bvi\.mock\(/);

function filesWith(words: RegExp): string[] {
  return tests.filter((file) => words.test(readFileSync(file, 'utf8')));
}
