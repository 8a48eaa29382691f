/** What works and should be changed, in words, each with its place. */
import type { RawConfig } from './schema.ts';
import type { YamlFile } from '../../lib/yaml/yaml-file.ts';

export function warningsOf(raw: RawConfig, yaml: YamlFile): string[] {
  const { baseUrl, apiKey } = raw.endpoint;
  const warnings: string[] = [];
  if (apiKey !== undefined && yaml.fromEnvironment(['endpoint', 'apiKey']) === 'none') {
    warnings.push(
      `${yaml.placeOf(['endpoint', 'apiKey'])}: the API key stands in the file itself; write \${NIGHTRENDER_API_KEY} and keep the key in the environment`,
    );
  }
  if (isPlainHttp(baseUrl)) {
    warnings.push(
      `${yaml.placeOf(['endpoint', 'baseUrl'])}: this is plain http: the API key and the prompts can be read on their way`,
    );
  }
  return warnings;
}

function isPlainHttp(baseUrl: string): boolean {
  if (baseUrl === 'local') return false;
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && !isLoopback(hostname);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
}
