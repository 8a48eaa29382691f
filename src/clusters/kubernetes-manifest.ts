/** The manifest with which Kubernetes keeps the runners of a batch going: an indexed Job, and a ConfigMap of files. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Job } from 'kubernetes-types/batch/v1.d.ts';
import type { ConfigMap, Container, PodSpec } from 'kubernetes-types/core/v1.d.ts';
import { stringify } from 'yaml';

export interface KubernetesJob {
  /** Name of the batch, by which all its Jobs are found: at most 44 characters of a DNS label. */
  batch: string;
  /** Makes the name of this Job unique, because a Job cannot be started twice. */
  suffix: string;
  runners: number;
  image: string;
  folder: string;
  /** Files that runners read, relative to the folder, beginning with pipeline.yaml. */
  files: { path: string; bytes: Buffer }[];
  /** PersistentVolumeClaim with the folder. Without it, everything written is lost with the pod. */
  claim: string | undefined;
  secret: string;
  variables: { name: string; isOptional: boolean }[];
  memoryBytes: number;
  endMs: number;
}

/** Maximum bytes of a ConfigMap. More than about 250 kB can be applied only with --server-side. */
export const maxConfigMapBytes = 1_000_000;

export function kubernetesManifest(job: KubernetesJob): string {
  const configMap = configMapOf(job);
  const documents = [configMap, jobOf(job, configMap.metadata.name)];
  const texts = documents.map((document) =>
    stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }),
  );
  return `${headOf(job)}---\n${texts.join('---\n')}`;
}

function headOf({ batch, secret, variables }: KubernetesJob): string {
  const needed = variables.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
  const lines = [
    `${batch}: for Kubernetes 1.29 and later.`,
    ...(variables.length === 0
      ? []
      : [
          `The Secret ${secret} holds ${needed.join(', ') || 'no variable that is needed'}. Once, from a file of NAME=value lines:`,
          `  kubectl create secret generic ${secret} --from-env-file=secrets.env`,
        ]),
  ];
  return lines.map((line) => `# ${line}\n`).join('');
}

/** Named by its content, so that running runners keep the files that they began with. */
function configMapOf({ batch, files }: KubernetesJob) {
  const hash = createHash('sha256');
  for (const { path, bytes } of files) hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  const keyed = files.map(({ bytes }, i) => ({ key: keyOf(i), bytes }));
  const entries = (isText: boolean, encoding: BufferEncoding): Record<string, string> =>
    Object.fromEntries(
      keyed
        .filter(({ bytes }) => isUtf8(bytes) === isText)
        .map(({ key, bytes }) => [key, bytes.toString(encoding)]),
    );
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${batch}-${hash.digest('hex').slice(0, 8)}`, labels: labelsOf(batch) },
    immutable: true,
    data: entries(true, 'utf8'),
    ...(keyed.some(({ bytes }) => !isUtf8(bytes)) && { binaryData: entries(false, 'base64') }),
  } satisfies ConfigMap;
}

const keyOf = (index: number): string => (index === 0 ? 'pipeline.yaml' : `list-${index}`);

const labelsOf = (batch: string) => ({
  'app.kubernetes.io/name': 'nightrender',
  'app.kubernetes.io/instance': batch,
});

function jobOf(job: KubernetesJob, configMap: string) {
  const { batch, suffix, runners } = job;
  const labels = labelsOf(batch);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: `${batch}-${suffix}`, labels },
    spec: {
      completionMode: 'Indexed',
      completions: runners,
      parallelism: runners,
      backoffLimitPerIndex: 6,
      // A replacement never runs beside a pod that is still ending.
      podReplacementPolicy: 'Failed',
      podFailurePolicy: {
        rules: [
          // Preempted, evicted or drained pods, which are no fault of the runner.
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          { action: 'Ignore', onExitCodes: { containerName: 'runner', operator: 'In', values: [143] } },
          // A person has to look first. Other runners go on, and other codes are retried after growing waits.
          {
            action: 'FailIndex',
            onExitCodes: { containerName: 'runner', operator: 'In', values: finalCodes },
          },
        ],
      },
      ttlSecondsAfterFinished: 604_800,
      template: { metadata: { labels }, spec: podOf(job, configMap) },
    },
  } satisfies Job;
}

/** Wrong configuration, failed scenes, a halt rule, a refused key, a limit. Starting again would change nothing. */
const finalCodes = [2, 3, 10, 12, 13];

function podOf(job: KubernetesJob, configMap: string): PodSpec {
  const work =
    job.claim === undefined ? { emptyDir: {} } : { persistentVolumeClaim: { claimName: job.claim } };
  return {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: Math.ceil(job.endMs / 1000),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1000,
      fsGroup: 1000,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [containerOf(job)],
    volumes: [
      { name: 'work', ...work },
      { name: 'tmp', emptyDir: {} },
      { name: 'files', configMap: { name: configMap } },
    ],
  };
}

function containerOf({ image, folder, files, secret, variables, memoryBytes }: KubernetesJob): Container {
  const memory = `${Math.ceil(memoryBytes / 2 ** 20)}Mi`;
  return {
    name: 'runner',
    image,
    command: ['nightrender', 'run', `${folder}/${files[0]?.path ?? ''}`],
    env: [
      // Only the folder and /tmp are writable.
      { name: 'XDG_STATE_HOME', value: '/tmp' },
      ...variables.map(({ name, isOptional }) => ({
        name,
        valueFrom: { secretKeyRef: { name: secret, key: name, ...(isOptional && { optional: true }) } },
      })),
    ],
    resources: { requests: { cpu: '1', memory }, limits: { memory } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'work', mountPath: folder },
      { name: 'tmp', mountPath: '/tmp' },
      ...files.map(({ path }, i) => ({
        name: 'files',
        mountPath: `${folder}/${path}`,
        subPath: keyOf(i),
        readOnly: true,
      })),
    ],
  };
}
