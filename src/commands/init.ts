/** `nightrender init`: a pipeline.yaml with its schema, and a small manifest, that run at once. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pipelineSchemaText } from '../config/pipeline-schema.ts';
import { ConfigError, type Problem } from '../config/problem.ts';
import { sections } from '../config/schema.ts';
import { showInit } from '../terminal/show-init.ts';
import { pipelineText, scenesText, schemaFile } from './init-files.ts';
import { refuse } from './refuse.ts';
import { shownPath } from './shown-path.ts';

/** Resolves to the exit code. A file that is there is never touched. */
export function init(dir: string, argv: Record<string, unknown>): number {
  const folder = resolve(dir);
  try {
    const where = endpointOf(argv);
    const files = [
      { path: join(folder, 'pipeline.yaml'), text: pipelineText(where) },
      { path: join(folder, 'scenes.csv'), text: scenesText },
      { path: join(folder, schemaFile), text: pipelineSchemaText() },
    ];
    assertFree(files.map(({ path }) => path));
    mkdirSync(folder, { recursive: true });
    for (const { path, text } of files) writeFileSync(path, text, { flag: 'wx' });
    const [pipeline = '', manifest = '', schema = ''] = files.map(({ path }) => shownPath(path));
    showInit({ pipeline, manifest, schema, needsKey: where !== 'local' });
    return 0;
  } catch (thrown) {
    return refuse(thrown, folder, false);
  }
}

/** Both or neither, as the configuration would have them. */
function endpointOf(argv: Record<string, unknown>): 'local' | { url: string; id: string } {
  const { endpoint: url, id } = argv;
  if (url === undefined && id === undefined) return 'local';
  const problems: Problem[] = [];
  const { baseUrl, id: idShape } = sections.endpoint.shape;
  if (url === undefined)
    problems.push({
      where: '--endpoint',
      text: '--id names an endpoint of a service; expected its URL as well',
    });
  else problems.push(...problemsOf('--endpoint', url, baseUrl.safeParse(url)));
  if (id === undefined && url !== 'local')
    problems.push({ where: '--id', text: 'expected the id of the endpoint as well' });
  else if (id !== undefined) problems.push(...problemsOf('--id', id, idShape.safeParse(id)));
  if (problems.length > 0) throw new ConfigError(problems);
  return url === 'local' ? 'local' : { url: String(url), id: String(id) };
}

interface Parsed {
  error?: { issues: { message: string }[] } | undefined;
}

function problemsOf(where: string, value: unknown, { error }: Parsed): Problem[] {
  const [issue] = error?.issues ?? [];
  return issue === undefined
    ? []
    : [{ where, text: `is ${JSON.stringify(value)}; expected ${issue.message}` }];
}

function assertFree(paths: string[]): void {
  const problems = paths
    .filter((path) => existsSync(path))
    .map((path) => ({
      where: shownPath(path),
      text: 'this file is there already, and stays as it is; choose another folder: `nightrender init <dir>`',
    }));
  if (problems.length > 0) throw new ConfigError(problems);
}
