/** Creates the ports of a batch for a piece of work, and closes them after it. */
import { join } from 'node:path';
import { ByteSemaphore } from '../lib/limits.ts';
import { formatOfFile } from '../runner/core/picture.ts';
import { KeptAnswersFolder } from '../runner/checkpoint/kept-answers.ts';
import type { BatchLease, OpenCheckpoint } from '../runner/checkpoint/open-checkpoint.ts';
import { failure, type Failed } from '../runner/client/exchange.ts';
import { HttpsDownloads } from '../runner/client/https-downloads.ts';
import { ReceivedFiles } from '../runner/client/received-files.ts';
import { SendingFiles } from '../runner/client/sending-files.ts';
import type { Config } from '../runner/config/config.ts';
import type { Endpoint } from '../runner/core/attempt.ts';
import type { Bucket } from '../lib/s3/bucket.ts';
import { bucketPlace } from '../runner/images/bucket-place.ts';
import { withDecoding } from '../runner/images/ffmpeg.ts';
import { createImageStore, type MaintainedImageStore } from '../runner/images/image-store.ts';
import {
  type BatchPlaces,
  type BucketTrouble,
  imagesFolder,
  openBucket,
  openPlaces,
  outputFiles,
  linksTo,
} from './pictures-place.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener, Ports, Report } from '../runner/pipeline/ports.ts';
import { type Stop, StoppedEarly } from '../runner/pipeline/stop.ts';
import { type LocalService, connectService, type Connections } from './connect-service.ts';
import { shownFile } from '../lib/yaml/yaml-file.ts';
import { keptText } from './refusal.ts';
import { systemClock } from './system-clock.ts';
import type { PictureOwner, Place } from '../runner/images/place.ts';
import { uploadReport } from '../runner/images/saved-files.ts';
import { tryWriteReport, recordEnd, keptReport } from './result-files.ts';

interface PortsFor {
  config: Config;
  opened: OpenCheckpoint;
  /** All endpoints in use: for new jobs, and for jobs in flight. */
  endpoints: Endpoint[];
  emit: Listener;
  /** Stop requests are emitted as events. */
  stop: Stop;
  localService: LocalService;
  /** Number of pictures that were kept as `.former` before. Defaults to 0. */
  kept?: number;
  /** True if the user has decided about pictures that the checkpoint does not know. Defaults to false. */
  isAnyAccepted?: boolean;
  /** Called before the batch begins in a bucket that no batch has used. Throws if it must not begin there. */
  assertNew?: () => Promise<void>;
  /** Time in ms to wait for a bucket that does not answer. Defaults to ten minutes. */
  patienceMs?: number;
}

export async function withPorts<Result>(
  {
    config,
    opened,
    endpoints,
    emit,
    stop,
    localService,
    kept = 0,
    isAnyAccepted = false,
    assertNew,
    patienceMs,
  }: PortsFor,
  work: (ports: Ports) => Promise<Result>,
): Promise<Result> {
  stop.onEnding(({ kind, text }) => emit({ type: 'stopping', ending: kind, text }));
  const warn = (text: string): void => emit({ type: 'warning', text });
  const connections = await connect(config, endpoints, localService, warn);
  const memory = new ByteSemaphore(config.limits.memory);
  const otherBuckets = new OtherBuckets((url) => openBucket(url, config.env, bucket()));
  // Uses separate memory, so that submissions and pictures do not wait for each other.
  const files = new SendingFiles(
    config.folder,
    new ByteSemaphore(config.limits.memory),
    (address) => otherBuckets.read(address),
    pictureAdvice(config),
    () => staleness(opened.lease),
  );
  // On the disk of the pictures, so that a clip gets its place by a rename.
  const receivedIn = imagesFolder(config) ?? join(config.output.dir, 'received');
  const received = new ReceivedFiles(receivedIn, config.limits.download);
  const service = connectService(config, connections.of, memory, { warn, files, received });
  const downloads = new HttpsDownloads({
    hosts: config.output.hosts,
    maxBytes: config.limits.body,
    received,
    requestTimeoutMs: config.timeouts.request,
    proxies: config.proxies,
  });
  const bucket = (): BucketTrouble => ({
    ...bucketOptions(warn, stop, config.shutdown.grace, patienceMs),
    proxies: config.proxies,
  });
  let places: BatchPlaces | undefined;
  try {
    places = await openPlaces({
      dir: config.output.dir,
      url: opened.pictures?.url,
      env: config.env,
      bucket: bucket(),
      isShared: opened.lease !== undefined,
    });
    const images = imagesOf(config, opened, places, { isAnyAccepted, assertNew }, warn);
    await images.prepare().catch((error: unknown) => {
      throw stop.ending === undefined ? error : new StoppedEarly(stop.ending, 'Nothing was sent.');
    });
    // The folder of the pictures was swept with them.
    if (imagesFolder(config) === undefined) await received.sweep(opened.lease !== undefined);
    const report = reportOf(config, opened, places);
    const { checkpoint, file, others, lease } = opened;
    followLease(lease, emit, stop, config.shutdown.grace);
    const ports = {
      service: files.around(service),
      downloads,
      answers: new KeptAnswersFolder(join(config.output.dir, 'kept-answers'), config.limits),
      checkpoint,
      file,
      others,
      images,
      report,
      clock: systemClock,
      random: Math.random,
      emit: (event: Event): void => {
        // The event is emitted once the checkpoint has the picture on disk.
        if (event.type === 'scene-saved') connections.collected(event.jobId);
        emit(event);
      },
    };
    const result = await work(ports);
    const former = keptText(kept + images.kept(), config.output.dir);
    if (former !== undefined) emit({ type: 'warning', text: former });
    return result;
  } finally {
    await places?.close();
    await otherBuckets.close();
    await service.close();
    await downloads.close();
    await received.removeAll();
    await connections.close();
  }
}

function imagesOf(
  config: Config,
  { run, pictures, rules, checkpoint }: OpenCheckpoint,
  places: BatchPlaces,
  claimant: Pick<PictureOwner, 'isAnyAccepted' | 'assertNew'>,
  warn: (text: string) => void,
): MaintainedImageStore {
  const images = createImageStore(places.claimedBy({ batch: pictures?.batch ?? '', run, ...claimant }), {
    pixels: config.limits.pixels,
    ...config.check,
    ...outputFiles(config.output, rules, warn),
    isPicture: async (file: string) => {
      const owner = await checkpoint.ownerOf(file);
      if (owner?.file === undefined) return owner !== undefined && config.output.keep === 'original';
      return formatOfFile(owner.file) === formatOfFile(file);
    },
    reportDir: config.report.thumbnails ? join(config.output.dir, 'report') : undefined,
    reportCopy: places.reportCopy,
  });
  return config.check.decode ? withDecoding(images) : images;
}

/** Buckets with pictures of other batches, opened on demand. */
class OtherBuckets {
  readonly #open: (url: string) => Promise<Bucket>;
  readonly #opened = new Map<string, Promise<Bucket>>();

  constructor(open: (url: string) => Promise<Bucket>) {
    this.#open = open;
  }

  /** Reads an object by its URL, `s3://bucket/key`. Undefined if it does not exist. Throws `FatalFailure`. */
  async read(address: string): Promise<Buffer | undefined> {
    const [, url = '', key = ''] = /^(s3:\/\/[^/]+\/)(.*)$/.exec(address) ?? [];
    const opened = this.#opened.get(url) ?? this.#open(url);
    this.#opened.set(url, opened);
    return bucketPlace(await opened).read(key);
  }

  async close(): Promise<void> {
    for (const opened of this.#opened.values()) {
      // A failure to open was reported by `read`.
      const bucket = await opened.catch(() => undefined);
      await bucket?.close();
    }
  }
}

/** Returns advice for a changed picture of another batch: repairing it restores the recorded one. */
function pictureAdvice({ stage, file }: Config): string | undefined {
  if (stage === undefined) return undefined;
  return `To check a picture of another batch, run \`nightrender verify ${shownFile(stage.from)}\`; then \`nightrender retry ${shownFile(file)}\` has it sent`;
}

const runPatienceMs = 10 * 60_000;

/** Returns options that make the run wait for a bucket that does not answer, unless the run is ending. */
function bucketOptions(
  warn: (text: string) => void,
  stop: Stop,
  graceMs: number,
  patienceMs = runPatienceMs,
): Omit<BucketTrouble, 'proxies'> {
  const abandoned = new AbortController();
  const abandon = (): void => void setTimeout(() => abandoned.abort(), graceMs).unref();
  stop.leaving.addEventListener('abort', abandon, { once: true });
  const onTrouble = (text: string): void =>
    warn(`${text}; trying again for ${Math.round(patienceMs / 60_000)} min`);
  return { signal: stop.leaving, abandoned: abandoned.signal, onTrouble, patienceMs };
}

/** Returns why nothing may be submitted while the lease is not fresh: another runner may have taken over the scenes. */
function staleness(lease: BatchLease | undefined): Failed | undefined {
  return lease?.isFresh() === false ? failure('checkpoint-gone', gone) : undefined;
}

const gone =
  'the shared checkpoint does not answer: jobs in flight are collected, and nothing is submitted until it answers';

function followLease(lease: BatchLease | undefined, emit: Listener, stop: Stop, graceMs: number): void {
  if (lease === undefined) return;
  const giveUpLater = (): void => void setTimeout(() => lease.giveUp(), graceMs).unref();
  stop.leaving.addEventListener('abort', giveUpLater, { once: true });
  lease.on({
    onLost: (lost) => stop.forThrown(lost),
    onWrittenBack: (text) => emit({ type: 'warning', text }),
    onReach: (isReached, text) =>
      emit({ type: 'warning', text: isReached ? 'the shared checkpoint answers again' : `${text}; ${gone}` }),
  });
}

/** Opens the connections. Starts the local service if it has one of the endpoints. */
export async function connect(
  config: Config,
  endpoints: Endpoint[],
  localService: LocalService,
  warn: (text: string) => void,
): Promise<Connections> {
  const local = endpoints.filter(({ baseUrl }) => baseUrl === 'local');
  const ids = [...new Set(local.map(({ id }) => id))];
  const dataDir = join(config.output.dir, 'local-service');
  const service =
    ids.length > 0 ? await localService.start({ dataDir, endpointIds: ids, onProblem: warn }) : undefined;
  return {
    of: ({ baseUrl }) => {
      if (baseUrl === 'local' && service !== undefined) return service;
      if (baseUrl !== config.endpoint.baseUrl)
        throw new Error(`the key of ${config.endpoint.baseUrl} would go to ${baseUrl}`);
      return { url: baseUrl, apiKey: config.apiKey ?? '', comfyApiKey: config.comfyApiKey };
    },
    collected: (jobId) => service?.collected(jobId),
    close: async () => service?.close(),
  };
}

/** Returns the report port of a run. It records the end of the run first, because the report shows it. */
function reportOf(
  { output: { dir }, report }: Config,
  opened: OpenCheckpoint,
  { images, reportCopy }: BatchPlaces,
): Report {
  const chosen = { bucket: linksTo(images), report };
  const writeNow = async (signal: AbortSignal): Promise<boolean> => {
    await opened.refresh();
    return tryWriteReport(dir, signal, chosen, Date.now(), opened.dir);
  };
  return {
    write: async (ending, signal, stats) => {
      await recordEnd(opened, ending, stats);
      if (!(await writeNow(signal))) return undefined;
      if (reportCopy !== undefined) await uploadUnlessStopped(reportCopy, join(dir, 'report'), signal);
      return join(dir, 'report');
    },
    update: async (signal) => void (await writeNow(signal)),
    keep: async (ending) => keptReport(dir, opened, ending),
  };
}

/** Uploads the report. If the upload is interrupted, the previous report stays there. */
async function uploadUnlessStopped(to: Place, folder: string, signal: AbortSignal): Promise<void> {
  try {
    await uploadReport(to, folder, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
