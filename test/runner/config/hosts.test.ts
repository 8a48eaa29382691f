/**
 * `output.hosts` accepts host names and wildcards, normalizes their spelling, and rejects everything else.
 */
import { expect, it } from 'vitest';
import { configOf, placesOf, problemsOf, withRequired } from './pipeline-file.ts';

const withHosts = (hosts: string): string =>
  withRequired('').replace('dir: renders', `dir: renders\n  hosts: ${hosts}`);

it('the list of hosts is empty by default', () => {
  expect(configOf(withRequired('')).output.hosts).toEqual([]);
});

it.each([
  ['cdn.example.com', 'cdn.example.com'],
  [' CDN.Example.COM ', 'cdn.example.com'],
  ['cdn.example.com:443', 'cdn.example.com'],
  ['cdn.example.com:8443', 'cdn.example.com:8443'],
  ['*.example.com', '*.example.com'],
  ['*.Example.com:8443', '*.example.com:8443'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['http://minio.lan:9000', 'http://minio.lan:9000'],
  [' HTTP://MinIO.lan:80/ ', 'http://minio.lan'],
  ['http://192.168.1.5:9000', 'http://192.168.1.5:9000'],
  ['http://[fd00::5]:9000', 'http://[fd00::5]:9000'],
])('the host %s', (host, spelled) => {
  expect(configOf(withHosts(`["${host}"]`)).output.hosts).toEqual([spelled]);
});

it.each([
  '',
  '*',
  '*.com',
  '*.*.example.com',
  'cdn.*.com',
  'https://cdn.example.com',
  'cdn.example.com/pictures',
  '127.0.0.1',
  '2130706433',
  '[::1]',
  '::1',
  'a b.example',
  'me@cdn.example.com',
  'cdn.example.com:99999',
  'http://*.lan:9000',
  'http://minio.lan:9000/bucket',
  'http://me@minio.lan:9000',
  'http://minio.lan:99999',
])('rejects the host %j', (host) => {
  expect(placesOf(problemsOf(withHosts(`["${host}"]`)))).toEqual(['7:11']);
  expect(problemsOf(withHosts(`["${host}"]`))[0]).toContain('such as cdn.example.com');
});

it('`output.hosts` has to be a list', () => {
  expect(problemsOf(withHosts('cdn.example.com'))[0]).toContain('a list of host names');
});
