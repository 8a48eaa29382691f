/** Explains why a request to a bucket failed: temporarily, or for a reason that a person has to fix. */

export class S3Error extends Error {
  /** Error code of the store or the system; empty if there is none. */
  readonly code: string;
  readonly isMissing: boolean;
  readonly isPassing: boolean;
  /** True if the store or the line is overloaded. */
  readonly isOverload: boolean;
  /** True if the store received different bytes than were sent. */
  readonly isGarbled: boolean;
  /** True if the store rejects the request (400). */
  readonly isRefusal: boolean;

  constructor(text: string, facts: Partial<Omit<S3Error, 'message'>> = {}) {
    super(text);
    this.isRefusal = facts.isRefusal ?? false;
    this.code = facts.code ?? '';
    this.isMissing = facts.isMissing ?? false;
    this.isPassing = facts.isPassing ?? false;
    this.isOverload = facts.isOverload ?? false;
    this.isGarbled = facts.isGarbled ?? false;
  }
}

interface Answered {
  status: number;
  body: Buffer;
}

/** Returns undefined if the request succeeded. A thrown error means that the connection failed. */
export function failureOf(answer: Answered, method: string): S3Error | undefined;
export function failureOf(thrown: unknown): S3Error;
export function failureOf(seen: unknown, method?: string): S3Error | undefined {
  if (method === undefined) return connectionFailure(seen);
  const { status, body } = seen as Answered;
  // Some stores find out that they fail after they have sent status 200.
  const isSuccess = status >= 200 && status < 300;
  if (isSuccess && (method === 'GET' || !/<Error>/.test(body.toString('latin1', 0, 500)))) return undefined;
  const code = /<Code>([\w.]+)<\/Code>/.exec(body.toString())?.[1] ?? '';
  // A 404 without a code may come from a load balancer, except for HEAD, whose answers have no code.
  const isMissing = code === 'NoSuchKey' || (status === 404 && code === '' && method === 'HEAD');
  const isForeign = status === 404 && code === '' && method !== 'HEAD';
  const isLater =
    isForeign ||
    (isSuccess && code === 'InternalError') ||
    // A retry cannot add a feature that the store lacks.
    (status >= 500 && status !== 501) ||
    status === 429 ||
    status === 408 ||
    laterCodes.has(code);
  const words =
    meanings[code] ??
    (status === 403 && code === ''
      ? 'access is denied'
      : isLater
        ? 'it cannot answer now'
        : 'it refuses the request');
  return new S3Error(`${words} (${[status, code].filter(Boolean).join(' ')})`, {
    code,
    isMissing,
    isPassing: isLater,
    isOverload: status === 503 || status === 429 || code === 'SlowDown',
    isGarbled: garbledCodes.has(code),
    isRefusal: status === 400,
  });
}

/** Temporary errors with a status that otherwise means a permanent one. */
const laterCodes = new Set(['RequestTimeout', 'OperationAborted', 'SlowDown', 'RequestTimeTooSkewed']);

const garbledCodes = new Set(['BadDigest', 'IncompleteBody', 'XAmzContentSHA256Mismatch']);

const meanings: Record<string, string> = {
  AccessDenied: 'access is denied; see what these credentials may do in this bucket',
  BadDigest: 'the store received different bytes than were sent',
  ExpiredToken: 'the session token has expired; get a new one',
  InvalidAccessKeyId: 'the access key (AWS_ACCESS_KEY_ID) is not known there',
  InvalidToken: 'the session token (AWS_SESSION_TOKEN) is not valid there',
  NoSuchBucket: 'there is no such bucket',
  NoSuchKey: 'there is no such object',
  PermanentRedirect: 'the bucket is in another region; set AWS_REGION',
  AuthorizationHeaderMalformed: 'the bucket is in another region; set AWS_REGION',
  QuotaExceeded: 'its quota is used up',
  RequestTimeTooSkewed: "this machine's clock is wrong",
  SignatureDoesNotMatch: 'the secret key (AWS_SECRET_ACCESS_KEY) is wrong',
  SlowDown: 'it asks for fewer requests',
  XAmzContentSHA256Mismatch: 'the store received different bytes than were sent',
};

function connectionFailure(thrown: unknown): S3Error {
  if (thrown instanceof S3Error) return thrown;
  if (thrown instanceof TypeError || thrown instanceof RangeError) throw thrown;
  const { code = (thrown as Error).name } = thrown as NodeJS.ErrnoException;
  if ((thrown as Error).name === 'AbortError')
    return new S3Error('the request was given up because the run is ending');
  // A retry cannot fix a certificate.
  const isForGood = /CERT|SSL|TLS|ERR_INVALID|LEAF_SIGNATURE|EPROTO/.test(code);
  const isOverload = code.includes('TIMEOUT');
  return new S3Error(`no connection (${code})`, { code, isPassing: !isForGood, isOverload });
}
