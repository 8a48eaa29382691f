/**
 * Promise: the Job of a batch is restarted only if a restart can help. It contains no secret and needs no
 * privileges.
 */
import type { Job } from 'kubernetes-types/batch/v1.d.ts';
import type { ConfigMap } from 'kubernetes-types/core/v1.d.ts';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { kubernetesManifest, type KubernetesJob } from '../../src/clusters/kubernetes-manifest.ts';
import { endings } from '../../src/runner/core/ending.ts';

const given: KubernetesJob = {
  batch: 'nightrender-night-renders-3f2a9c',
  suffix: '20260101-220000',
  runners: 16,
  image: 'me/nightrender:1',
  folder: '/batch/night',
  files: [
    { path: 'pipeline.yaml', bytes: Buffer.from('manifest: jobs/scenes.csv\n') },
    { path: 'jobs/scenes.csv', bytes: Buffer.from('id,scene\na,"Ein Hügel"\n') },
    { path: 'more.parquet', bytes: Buffer.from([0x50, 0xff, 0x00, 0xfe]) },
  ],
  claim: undefined,
  secret: 'night-keys',
  variables: [
    { name: 'NIGHTRENDER_API_KEY', isOptional: false },
    { name: 'AWS_REGION', isOptional: true },
  ],
  memoryBytes: 2 ** 30,
  endMs: 30_000,
};

function read(job: KubernetesJob): { configMap: ConfigMap; job: Job } {
  const [configMap, second] = parseAllDocuments(kubernetesManifest(job)).map(
    (each) => each.toJS() as unknown,
  );
  return { configMap: configMap as ConfigMap, job: second as Job };
}

const podOf = ({ spec }: Job) => {
  const pod = spec?.template.spec;
  const [container] = pod?.containers ?? [];
  if (pod === undefined || container === undefined) throw new Error('the Job has no container');
  return { pod, container };
};

it('the Job is one pod a runner, replaced only when it is gone', () => {
  const { spec } = read(given).job;
  expect(spec).toMatchObject({
    completionMode: 'Indexed',
    completions: 16,
    parallelism: 16,
    podReplacementPolicy: 'Failed',
    template: { spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 30 } },
  });
});

/**
 * Endings that a restart may change: a crash, a batch held by another runner, a deleted pod, and a bucket or
 * database that was unreachable.
 */
const startedAgain = new Set(['bug', 'already-running', 'terminated', 'output-unwritable']);

it.each(Object.entries(endings).filter(([, { exitCode }]) => ![0, 130].includes(exitCode)))(
  'the Job does as %s says',
  (kind, { exitCode }) => {
    const rules = read(given).job.spec?.podFailurePolicy?.rules ?? [];
    const rule = rules.find(({ onExitCodes }) => onExitCodes?.values.includes(exitCode));
    // Without a rule, Kubernetes restarts the pod.
    expect(rule?.action !== 'FailIndex').toBe(startedAgain.has(kind));
  },
);

it('the Job counts no disruption as a failure', () => {
  const [first] = read(given).job.spec?.podFailurePolicy?.rules ?? [];
  expect(first).toEqual({
    action: 'Ignore',
    onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }],
  });
});

it('the Job runs as the restricted Pod Security Standard wants it', () => {
  const { pod, container } = podOf(read(given).job);
  expect(pod.securityContext).toMatchObject({
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  });
  expect(pod.automountServiceAccountToken).toBe(false);
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  expect(container.resources).toEqual({
    requests: { cpu: '1', memory: '1024Mi' },
    limits: { memory: '1024Mi' },
  });
});

it('the Job has every file where pipeline.yaml names it, byte by byte', () => {
  const { configMap, job } = read(given);
  const { pod, container } = podOf(job);
  expect(container.command).toEqual(['nightrender', 'run', '/batch/night/pipeline.yaml']);
  const found = (container.volumeMounts ?? [])
    .filter(({ name }) => name === 'files')
    .map(({ mountPath, subPath = '' }) => ({
      path: mountPath.replace('/batch/night/', ''),
      bytes: Buffer.from(
        configMap.data?.[subPath] ?? Buffer.from(configMap.binaryData?.[subPath] ?? '', 'base64'),
      ),
    }));
  expect(found).toEqual(given.files);
  expect(pod.volumes).toContainEqual({ name: 'files', configMap: { name: configMap.metadata?.name } });
  expect(pod.volumes).toContainEqual({ name: 'work', emptyDir: {} });
});

it('the Job names another ConfigMap for another list, and the same for the same', () => {
  const nameOf = (job: KubernetesJob) => read(job).configMap.metadata?.name;
  const [first, ...others] = given.files;
  const edited = [...others, { path: first?.path ?? '', bytes: Buffer.from('manifest: other.csv\n') }];
  expect(nameOf({ ...given, suffix: 'later' })).toBe(nameOf(given));
  expect(nameOf({ ...given, files: edited })).not.toBe(nameOf(given));
});

it('the Job takes variables out of the Secret, and says at its head which', () => {
  const { container } = podOf(read(given).job);
  expect(container.env).toEqual([
    { name: 'XDG_STATE_HOME', value: '/tmp' },
    {
      name: 'NIGHTRENDER_API_KEY',
      valueFrom: { secretKeyRef: { name: 'night-keys', key: 'NIGHTRENDER_API_KEY' } },
    },
    {
      name: 'AWS_REGION',
      valueFrom: { secretKeyRef: { name: 'night-keys', key: 'AWS_REGION', optional: true } },
    },
  ]);
  expect(kubernetesManifest(given)).toMatch(/^#[^]*The Secret night-keys holds NIGHTRENDER_API_KEY\.[^]*---/);
});

it('the Job writes into a claim if there is one', () => {
  const { pod } = podOf(read({ ...given, claim: 'night' }).job);
  expect(pod.volumes).toContainEqual({ name: 'work', persistentVolumeClaim: { claimName: 'night' } });
});

it('the Job fits into the names that Kubernetes allows', () => {
  const name = read(given).job.metadata?.name ?? '';
  expect(name).toMatch(/^[a-z]([a-z0-9-]*[a-z0-9])?$/);
  expect(`${name}-999`.length).toBeLessThanOrEqual(63);
});
