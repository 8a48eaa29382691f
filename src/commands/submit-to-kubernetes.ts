/** The part of `nightrender submit` that is about Kubernetes: what a container lacks, and what it is given. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, relative, resolve, sep } from 'node:path';
import { kubernetesManifest, maxConfigMapBytes } from '../clusters/kubernetes-manifest.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import type { SubmissionSettings } from '../runner/config/read-submission.ts';
import { writeOut } from '../terminal/console.ts';
import { oneText } from './option-values.ts';
import { endMsOf, problem, restOf, runnerBytesOf, type Submission } from './submission.ts';

/** Everything that keeps it from running there. */
export function kubernetesProblems(settings: SubmissionSettings, argv: Record<string, unknown>): Problem[] {
  const { folder, dir, lists, writtenSecrets, hasSharedCheckpoint, hasBucket, sendsFiles } = settings;
  const hasVolume = oneText(argv, 'volume') !== undefined;
  const problems: Problem[] = writtenSecrets.map((where) => ({
    where,
    text: 'a secret is written in the file, which everybody can read in the cluster; expected ${NAME}, with its value in the Secret',
  }));
  const add = (where: string, text: string): void => void problems.push({ where, text });
  if (oneText(argv, 'image') === undefined)
    add('--image', 'is missing; expected an image that has nightrender');
  if (argv['drain'] !== undefined) add('--drain', 'is for Slurm; Kubernetes has no wall time');
  if (restOf(argv).length > 0)
    add('--', `${restOf(argv).join(' ')} is for Slurm; kubectl takes options of its own`);
  for (const path of [dir, ...lists.filter((list) => list !== '-')])
    if (relative(folder, path).startsWith('..'))
      add(path, 'is outside of the folder of pipeline.yaml, which is what a container has; move it there');
  if (hasVolume) return problems;
  if (!hasSharedCheckpoint || !hasBucket)
    add(
      '--volume',
      `is missing: without one, ${lostWithPod(settings)} would be lost with the pod; expected a PersistentVolumeClaim`,
    );
  if (sendsFiles)
    add('--volume', 'is missing: the files that jobs are sent have to be in it, beside pipeline.yaml');
  return problems;
}

function lostWithPod({ hasSharedCheckpoint, hasBucket }: SubmissionSettings): string {
  if (hasSharedCheckpoint) return 'pictures (output.pictures)';
  return hasBucket ? 'the checkpoint (checkpoint)' : 'checkpoint and pictures (checkpoint, output.pictures)';
}

/** The usual variables of a bucket; a cluster may give them in another way. */
const bucketVariables = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
  'AWS_ENDPOINT_URL',
  'AWS_ENDPOINT_URL_S3',
];

export function printManifest({ file, name, settings, runners, argv }: Submission): void {
  const { folder, variables, hasBucket } = settings;
  const claim = oneText(argv, 'volume');
  const optional = hasBucket ? bucketVariables.filter((each) => !variables.includes(each)) : [];
  const manifest = kubernetesManifest({
    batch: name,
    suffix: new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-'),
    runners,
    image: oneText(argv, 'image') ?? '',
    // A batch is known by the last two folders of its output: they are called as they are here.
    folder: `/batch/${basename(folder)}`,
    files: filesOf(resolve(file), settings, claim !== undefined),
    claim,
    secret: oneText(argv, 'secret') ?? 'nightrender',
    variables: [
      ...variables.map((each) => ({ name: each, isOptional: false })),
      ...optional.map((each) => ({ name: each, isOptional: true })),
    ],
    memoryBytes: runnerBytesOf(settings),
    endMs: endMsOf(settings),
  });
  writeOut(manifest.trimEnd());
}

/** pipeline.yaml, and lists where they fit; a volume holds those that do not. Throws `ConfigError`. */
function filesOf(file: string, { folder, lists }: SubmissionSettings, hasVolume: boolean) {
  const read = (path: string) => ({
    path: relative(folder, path).split(sep).join('/'),
    bytes: readFileSync(path),
  });
  const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();
  const all = [...new Set([file, ...lists])];
  const bytes = all.filter(isFile).reduce((sum, path) => sum + statSync(path).size, 0);
  const fits = all.every(isFile) && bytes <= maxConfigMapBytes;
  if (fits) return all.map(read);
  if (hasVolume) return [read(file)];
  const missing = all.find((path) => !existsSync(path));
  if (missing !== undefined) throw problem(missing, 'no such file');
  const what = all.every(isFile)
    ? `pipeline.yaml and lists have ${bytes} bytes, a ConfigMap holds ${maxConfigMapBytes}`
    : 'a folder does not fit into a ConfigMap';
  throw problem(
    '--volume',
    `is missing: ${what}; expected a PersistentVolumeClaim with the lists beside pipeline.yaml`,
  );
}
