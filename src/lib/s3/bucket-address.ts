/** Finds a bucket from `s3://bucket/folder` and the variables that other S3 programs use. */

export interface BucketAddress {
  bucket: string;
  /** Prefix of all keys: empty, or ends with `/`. */
  prefix: string;
  /** HTTP URL of the bucket, without a `/` at its end. */
  url: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string | undefined;
}

export const bucketExpected = 's3://bucket or s3://bucket/folder';

/** Returns `s3://bucket/folder/`, with one `/` at its end; undefined if the text is no such address. */
export function bucketUrl(text: string): string | undefined {
  const [, bucket, path = ''] = /^s3:\/\/([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])(\/.*)?$/.exec(text) ?? [];
  const folders = path.split('/').filter((part) => part !== '');
  // In a URL, these parts would lead elsewhere.
  if (bucket === undefined || folders.some((part) => part === '.' || part === '..')) return undefined;
  return `s3://${[bucket, ...folders].join('/')}/`;
}

/** Thrown if a variable is missing or invalid. The message is a sentence that names it. */
export class AddressProblem extends Error {}

/** `url`: as `bucketUrl` returns it. Throws `AddressProblem`. */
export function bucketAddress(url: string, env: NodeJS.ProcessEnv): BucketAddress {
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)\/(.*)$/.exec(url) ?? [];
  return {
    bucket,
    prefix,
    url: bucketHttpUrl(bucket, env),
    region: regionIn(env),
    accessKeyId: required(env, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey: required(env, 'AWS_SECRET_ACCESS_KEY'),
    sessionToken: optional(env, 'AWS_SESSION_TOKEN'),
  };
}

/** Returns a URL without a `/` at its end. Throws `AddressProblem`. */
function bucketHttpUrl(bucket: string, env: NodeJS.ProcessEnv): string {
  const endpoint = env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL'] || '';
  return endpoint === '' ? awsUrl(bucket, regionIn(env)) : `${checkedEndpoint(endpoint)}/${bucket}`;
}

function regionIn(env: NodeJS.ProcessEnv): string {
  return env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1';
}

/** Uses a path for names with dots, because certificates cover only one label below the host. */
function awsUrl(bucket: string, region: string): string {
  const host = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  return bucket.includes('.') ? `https://${host}/${bucket}` : `https://${bucket}.${host}`;
}

function checkedEndpoint(endpoint: string): string {
  const isHttp = URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol);
  const { username = '', search = '' } = isHttp ? new URL(endpoint) : {};
  if (!isHttp || username !== '' || search !== '')
    throw new AddressProblem(
      'the variable AWS_ENDPOINT_URL_S3 (or AWS_ENDPOINT_URL) is not an address such as https://s3.example.com',
    );
  return endpoint.replace(/\/+$/, '');
}

/** Refuses invalid characters, because the value becomes a header and may have been pasted from a terminal. */
function optional(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = env[name]?.trim() ?? '';
  if (/^[\u0021-\u007E]*$/.test(value)) return value || undefined;
  throw new AddressProblem(
    `the variable ${name} contains a space, a line break or another invalid character`,
  );
}

function required(env: NodeJS.ProcessEnv, name: string): string {
  const value = optional(env, name);
  if (value !== undefined) return value;
  throw new AddressProblem(`the variable ${name} is not set; it is needed for the pictures in the bucket`);
}
