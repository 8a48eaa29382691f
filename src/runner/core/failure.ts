/** All known failures as data: who causes each, what happens next and what it means. */

/**
 * Consequence of a failure.
 *
 * - `stop`: the run ends, and the attempt and its scene stay as they were
 * - `try-again`: the same request is sent again later, and neither attempt nor scene changes
 * - `resubmit`: a new attempt, because the outcome of this one is unknown or its result is gone
 * - `hold`: the attempt stays in flight and its scene waits for a setting; see `halting.ts`
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
    means: 'ComfyUI refuses a part of the workflow that no scene sets, such as a missing node',
  },
  'urls-not-allowed': {
    whose: 'yours',
    next: 'hold',
    means: 'the output names results by address, and `output.hosts` is empty',
  },
  'not-reached': {
    whose: 'network',
    next: 'try-again',
    means: 'no connection was made (refused, no such host), so the service accepted nothing',
  },
  'checkpoint-gone': {
    whose: 'network',
    next: 'try-again',
    means: 'the shared checkpoint does not answer; nothing is submitted meanwhile',
  },
  overloaded: {
    whose: 'service',
    next: 'try-again',
    means: 'the service is busy (429, or 503 with `Retry-After`)',
  },
  'poll-failed': {
    whose: 'network',
    next: 'try-again',
    means: 'a status request got no readable answer (5xx, HTML, reset, timeout, cut body)',
  },
  'not-known-yet': {
    whose: 'service',
    next: 'try-again',
    means: 'the service does not know a new job yet (404)',
  },
  'endpoint-doubtful': {
    whose: 'service',
    next: 'try-again',
    means:
      'the service does not know a job (404); it is asked again until it is certain that the endpoint exists',
  },
  unanswered: {
    whose: 'network',
    next: 'resubmit',
    means: 'a submission got no readable answer (reset, timeout, 5xx): the job may run and be billed',
  },
  expired: {
    whose: 'service',
    next: 'resubmit',
    means: 'the endpoint no longer has the job (404): the result was deleted after the retention, or lost',
  },
  'input-refused': {
    whose: 'yours',
    next: 'fail-scene',
    means: 'the service refuses the input of the scene (400 and other 4xx)',
  },
  'file-changed': {
    whose: 'yours',
    next: 'fail-scene',
    means: 'a file of the scene is gone or has changed since the list was read; nothing was sent',
  },
  'url-refused': {
    whose: 'yours',
    next: 'hold',
    means:
      'the output names an address that is not allowed: not https, not listed in `output.hosts`, or not on the public internet',
  },
  'picture-not-found': {
    whose: 'yours',
    next: 'hold',
    means: 'the output has no picture or clip, or no file of `output.files`, at the configured path',
  },
  'picture-refused': {
    whose: 'yours',
    next: 'hold',
    means: 'the service refuses a result of a finished job (401, 403) but reports its status',
  },
  'other-file-kind': {
    whose: 'yours',
    next: 'hold',
    means: 'a file of the output has another kind than `output.files` asks for',
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
      'the result cannot be saved, and another job would bring the same: a BMP, TIFF, SVG, AVI or another format, or an animation; it is kept as `<name>.kept`',
  },
  'content-refused': {
    whose: 'yours',
    next: 'fail-scene',
    means: 'the worker refuses the content (moderation, NSFW, safety) and would refuse it again',
  },
  'status-unknown': {
    whose: 'yours',
    next: 'hold',
    means:
      'an output or an error came with an unknown status; define it in `endpoint.statuses`, or in `status.map` of a description',
  },
  'default-timeout': {
    whose: 'yours',
    next: 'hold',
    means:
      'the service ended the job after 10 minutes, its default, and `endpoint.policy.executionTimeout` is not set',
  },
  'job-failed': { whose: 'worker', next: 'new-attempt', means: 'the job ended as FAILED' },
  'job-timed-out': { whose: 'worker', next: 'new-attempt', means: 'the job ended as TIMED_OUT' },
  'job-cancelled': { whose: 'worker', next: 'new-attempt', means: 'the job ended as CANCELLED' },
  cancelled: {
    whose: 'yours',
    next: 'put-back',
    means: 'you cancelled the job (`nightrender cancel`)',
  },
  'given-up': {
    whose: 'yours',
    next: 'put-back',
    means: 'you gave up the job in flight (`nightrender retry --give-up` or `--elsewhere`)',
  },
  'job-overdue': {
    whose: 'service',
    next: 'new-attempt',
    means:
      'the job waited or ran longer than `timeouts` allows, or its result was refused while the service kept it',
  },
  'no-output': {
    whose: 'worker',
    next: 'new-attempt-once',
    means: 'the job COMPLETED without output; usually the result is too large for the service',
  },
  'failed-inside': {
    whose: 'worker',
    next: 'new-attempt',
    means: 'the job COMPLETED, and its output reports a failure instead of a result',
  },
  'download-failed': {
    whose: 'network',
    next: 'new-attempt',
    means:
      'a file of the result is lost: its host said four times that it is gone (404, 410, expired), or it did not come while it was kept',
  },
  'bad-picture': {
    whose: 'worker',
    next: 'new-attempt',
    means: 'the picture is cut or damaged, or the data is not a picture',
  },
  'bad-file': {
    whose: 'worker',
    next: 'new-attempt',
    means: 'a file that `output.files` asks for is cut or damaged',
  },
  'bad-clip': {
    whose: 'worker',
    next: 'fail-scene',
    means:
      'the clip is cut or damaged; it is kept as `<name>.damaged`, and rendered again only by `nightrender retry`',
  },
  'blank-picture': {
    whose: 'worker',
    next: 'new-attempt',
    means: 'the picture has one colour or is fully transparent, and `check.blank` rejects it',
  },
  'picture-too-small': {
    whose: 'worker',
    next: 'new-attempt',
    means: 'the shorter side of the picture is below `check.minSide`',
  },
  'result-too-large': {
    whose: 'yours',
    next: 'hold',
    means: 'the result is larger than `limits.body`',
  },
  'clip-too-large': {
    whose: 'yours',
    next: 'hold',
    means: 'the clip is larger than `limits.download`',
  },
  quarantined: {
    whose: 'machine',
    next: 'fail-scene',
    means: 'the program crashed three times while it worked on this scene',
  },
  'output-unwritable': {
    whose: 'machine',
    next: 'stop',
    means:
      'the output folder or the checkpoint cannot be read or written (disk full, failing, missing or read-only, no permission)',
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
  /** True if the output has a clip in place of the expected picture, or a picture in place of the clip. */
  isOtherMedia?: true;
  /** True if `timeouts.execution` ended the job, and not `timeouts.queue`. */
  isExecution?: true;
  /** Hex SHA-256 of the rejected content. Recognizes the same content if it comes again. */
  digest?: string;
  /** True if the content that came in place of a file is text. */
  isText?: true;
  /** True if the host says that a file no longer exists, or that its address has expired. */
  isGone?: true;
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
