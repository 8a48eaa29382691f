/** All known failures as data: who causes each, what happens next and what it means. */

/**
 * Consequence of a failure.
 *
 * - `stop`: the run ends, and the attempt and its scene stay as they were
 * - `try-again`: the same request is sent again later, and neither attempt nor scene changes
 * - `resubmit`: a new attempt, because the outcome of this one is unknown or its result is gone
 * - `hold`: the attempt stays in flight and its scene waits for a setting; see `holding.ts`
 * - `put-back`: the scene waits to be rendered again, and the attempt does not count
 * - `new-attempt`: a new attempt if the scene has any left, otherwise the scene has failed. It has also
 *   failed if identical bytes come twice
 * - `new-attempt-once`: one new attempt, because a second failure of this kind is usually final
 * - `fail-scene`: the scene has failed, because sending the same again cannot help
 */
export type Consequence =
  'stop' | 'try-again' | 'resubmit' | 'hold' | 'put-back' | 'new-attempt' | 'new-attempt-once' | 'fail-scene';

interface FailureRule {
  whose: 'yours' | 'network' | 'service' | 'worker' | 'machine';
  next: Consequence;
  means: string;
}

export const failureRules = {
  'key-refused': { whose: 'yours', next: 'stop', means: 'the service does not accept the key (401, 403)' },
  'account-unusable': { whose: 'yours', next: 'stop', means: 'the account cannot pay or is closed (402)' },
  'endpoint-unknown': {
    whose: 'yours',
    next: 'stop',
    means: 'the endpoint does not exist for this key (404 on submission)',
  },
  'workflow-refused': {
    whose: 'yours',
    next: 'stop',
    means: 'ComfyUI refuses the workflow for something that no scene sets, such as a node that is missing',
  },
  'urls-not-allowed': {
    whose: 'yours',
    next: 'hold',
    means: 'the output names pictures by address, and `output.hosts` lists no host to download from',
  },
  'not-reached': {
    whose: 'network',
    next: 'try-again',
    means: 'no connection was made, so nothing was accepted (refused, no such host)',
  },
  'checkpoint-gone': {
    whose: 'network',
    next: 'try-again',
    means: 'the shared checkpoint does not answer, and nothing is submitted until it does',
  },
  overloaded: { whose: 'service', next: 'try-again', means: 'the service asks to wait (429)' },
  'poll-failed': {
    whose: 'network',
    next: 'try-again',
    means: 'a status request brought no readable answer (5xx, HTML, reset, time-out, cut body)',
  },
  'not-known-yet': {
    whose: 'service',
    next: 'try-again',
    means: 'the status of a job submitted moments ago is not known to the service yet (404)',
  },
  'endpoint-doubtful': {
    whose: 'service',
    next: 'try-again',
    means:
      'a job is not known (404): asked for again, until it is sure that the endpoint itself still is there',
  },
  unanswered: {
    whose: 'network',
    next: 'resubmit',
    means: 'a submission was sent and no readable answer came (reset, time-out, 5xx): it may run and bill',
  },
  expired: {
    whose: 'service',
    next: 'resubmit',
    means:
      'the endpoint answers and no longer has the job (404): its result was deleted after the retention period, or lost',
  },
  'input-refused': {
    whose: 'yours',
    next: 'fail-scene',
    means: 'the service does not accept what the scene sends (400 and other 4xx)',
  },
  'file-changed': {
    whose: 'yours',
    next: 'fail-scene',
    means: 'a file that the scene sends is gone, or another than when the list was read: nothing was sent',
  },
  'url-refused': {
    whose: 'yours',
    next: 'hold',
    means:
      'the output names an address that nothing is downloaded from: neither https nor an `http://` entry of `output.hosts`, a host that it does not list, or none of the public internet',
  },
  'picture-not-found': {
    whose: 'yours',
    next: 'hold',
    means: 'the output has no picture, or no file of `output.files`, where the settings look for it',
  },
  'picture-refused': {
    whose: 'yours',
    next: 'hold',
    means: 'the service refuses a picture of a job that is done (401, 403), and tells its status',
  },
  'other-file-kind': {
    whose: 'yours',
    next: 'hold',
    means: 'a file of the output is of another kind than `output.files` asks for',
  },
  'value-not-found': {
    whose: 'yours',
    next: 'hold',
    means: 'three outputs in a row have none of the `output.values` that `scenes.until` needs',
  },
  'too-many-pixels': {
    whose: 'yours',
    next: 'hold',
    means: 'the picture has more pixels than `limits.pixels` allows',
  },
  'output-unsupported': {
    whose: 'yours',
    next: 'fail-scene',
    means:
      'what came is nothing that can be saved, and another job would bring the same: a GIF, BMP, TIFF, SVG or another format, an animation',
  },
  'content-refused': {
    whose: 'yours',
    next: 'fail-scene',
    means:
      'the worker refuses what the scene asks for (moderation, NSFW, safety): it would refuse the same again',
  },
  'status-unknown': {
    whose: 'yours',
    next: 'hold',
    means:
      'the service hands in an output or an error under a status that is not known; `endpoint.statuses`, or `status.map` of a description, says what it means',
  },
  'job-failed': { whose: 'worker', next: 'new-attempt', means: 'the job ended as FAILED' },
  'job-timed-out': { whose: 'worker', next: 'new-attempt', means: 'the job ended as TIMED_OUT' },
  'job-cancelled': { whose: 'worker', next: 'new-attempt', means: 'the job ended as CANCELLED' },
  cancelled: {
    whose: 'yours',
    next: 'put-back',
    means: 'you had the job cancelled (`nightrender cancel`)',
  },
  'given-up': {
    whose: 'yours',
    next: 'put-back',
    means: 'you gave up what was in flight (`nightrender retry --give-up` or `--elsewhere`)',
  },
  'job-overdue': {
    whose: 'service',
    next: 'new-attempt',
    means:
      'the job stayed in the queue or in execution longer than `timeouts` allows, or its result was refused for `halt.unreachable`',
  },
  'no-output': {
    whose: 'worker',
    next: 'new-attempt-once',
    means: 'the job COMPLETED without output: mostly a result too large for the service',
  },
  'failed-inside': {
    whose: 'worker',
    next: 'new-attempt',
    means: 'the job COMPLETED, and its output reports a failure instead of a picture',
  },
  'download-failed': {
    whose: 'network',
    next: 'new-attempt',
    means:
      'a picture that the output names by address did not come, in four tries (404, 5xx, reset, time-out, cut)',
  },
  'bad-picture': {
    whose: 'worker',
    next: 'new-attempt',
    means: 'what came as a picture is none, or is cut or damaged',
  },
  'bad-file': {
    whose: 'worker',
    next: 'new-attempt',
    means: 'a file that `output.files` asks for is cut or damaged',
  },
  'blank-picture': {
    whose: 'worker',
    next: 'new-attempt',
    means: 'the picture is of one colour or transparent throughout, and `check.blank` rejects such pictures',
  },
  'picture-too-small': {
    whose: 'worker',
    next: 'new-attempt',
    means: 'the shorter side of the picture has fewer pixels than `check.minSide` asks for',
  },
  'result-too-large': {
    whose: 'yours',
    next: 'hold',
    means: 'the result is larger than `limits.body` allows to be read',
  },
  quarantined: {
    whose: 'machine',
    next: 'fail-scene',
    means: 'the program died three times while it handled this scene',
  },
  'output-unwritable': {
    whose: 'machine',
    next: 'stop',
    means:
      'the output folder or the checkpoint cannot be read or written (disk full, failing, gone or read-only, no permission)',
  },
} as const satisfies Record<string, FailureRule>;

export type FailureKind = keyof typeof failureRules;

export function isFailureKind(text: string): text is FailureKind {
  return Object.hasOwn(failureRules, text);
}

export interface Failure {
  kind: FailureKind;
  /** One sentence for people, with the service's message if there is one. Never contains the key. */
  text: string;
  /** Minimum wait in ms before the next request, as the service asked. */
  retryAfterMs?: number;
  /** True if the output refers to pictures by URL. Each of them is available only as long as its host keeps it. */
  isByAddress?: true;
  /** True if `timeouts.execution` ended the job, and not `timeouts.queue`. */
  isExecution?: true;
  /** Hex SHA-256 of the rejected content. Recognizes the same content if it comes again. */
  digest?: string;
}

/** A failure that ends the run. It is thrown because only the run itself can react to it. */
export class FatalFailure extends Error {
  readonly failure: Failure;
  /** True if jobs in flight can be collected before the run ends. */
  readonly isCollecting: boolean;

  constructor(failure: Failure, isCollecting = false) {
    super(failure.text);
    this.failure = failure;
    this.isCollecting = isCollecting;
  }
}
