/** What undici and the system say of requests that brought no answer, in words. */
import { errors } from 'undici';

const phrases = new Map([
  ['ECONNREFUSED', 'connection refused: nothing listens at the address'],
  ['ENOTFOUND', 'unknown host name'],
  ['EAI_AGAIN', 'the host name could not be resolved'],
  ['EHOSTUNREACH', 'the host cannot be reached'],
  ['ENETUNREACH', 'the network cannot be reached'],
  ['EADDRNOTAVAIL', 'no local address is free to connect from'],
  ['EMFILE', 'this process has too many files open to make a connection'],
  ['ENFILE', 'this machine has too many files open to make a connection'],
  ['UND_ERR_CONNECT_TIMEOUT', 'no connection was made in time'],
  ['ECONNRESET', 'the connection was reset'],
  ['ECONNABORTED', 'the connection was aborted'],
  ['EPIPE', 'the connection was closed while sending'],
  ['ETIMEDOUT', 'the connection timed out'],
  ['EPROTO', 'TLS failed; check that the URL serves https'],
  ['UND_ERR_SOCKET', 'the connection was closed before the answer was complete'],
  ['UND_ERR_HEADERS_TIMEOUT', 'no answer came in time'],
  ['UND_ERR_BODY_TIMEOUT', 'the answer stopped coming'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'the answer is shorter or longer than it says'],
  ['UND_ERR_HEADERS_OVERFLOW', 'the headers of the answer are too large'],
  ['UND_ERR_DESTROYED', 'the request was aborted because the run is ending'],
]);

/** One sentence without a full stop. */
export function describeNetworkError(error: unknown): string {
  const code = codeOf(error);
  if (isCertificateCode(code)) return `the certificate is not accepted (${code})`;
  if (error instanceof errors.HTTPParserError) return 'the response is not HTTP';
  const phrase = phrases.get(code.startsWith('ERR_SSL_') ? 'EPROTO' : code);
  if (phrase !== undefined) return `${phrase} (${code})`;
  return error instanceof Error ? error.message : String(error);
}

/** Node tries every address of a host and then throws an `AggregateError` whose parts hold the codes. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}

function isCertificateCode(code: string): boolean {
  return /CERT|UNABLE_TO_VERIFY/.test(code);
}
