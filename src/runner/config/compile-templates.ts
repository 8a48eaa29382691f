/** The templates of the file, compiled; problems are reported with their place. */
import { portablePath, portableSegment } from '../core/naming.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { typedText } from '../../lib/yaml/check-shape.ts';
import { sendsFiles, type InputFiles, compileInput, type InputTemplate } from './input-template.ts';
import type { ServiceInterface } from './service-interface.ts';
import { compileTemplate, TemplateError, type Template } from './template.ts';
import type { Path, YamlFile } from '../../lib/yaml/read-yaml.ts';

/** Skips values of a wrong shape, which are reported elsewhere. */
export function compileTemplates(
  yaml: YamlFile,
  report: (path: Path, text: string) => void,
  files: InputFiles,
  service: ServiceInterface,
): { input: InputTemplate | undefined; name: Template | undefined } {
  const root: JsonObject = isJsonObject(yaml.value) ? yaml.value : {};
  const reportTemplate = (path: Path, text: string): void => {
    // What a variable brought may be a key: Liquid's words would quote it.
    const reason = yaml.fromEnvironment(path) === 'none' ? `: ${text}` : ' after its variables are replaced';
    report(path, `invalid template${reason}`);
  };
  const input =
    service.kind === 'comfyui'
      ? compileSet(root, service.sha256, { yaml, report, reportTemplate, files })
      : isJsonObject(root['input'])
        ? compileInput(withVariables(root['input'], ['input'], yaml, report), reportTemplate, files)
        : undefined;
  const output = isJsonObject(root['output']) ? root['output'] : {};
  const written = output['name'];
  if (typeof written !== 'string') return { input, name: undefined };
  return {
    input,
    name: compileName(withVariables(written, ['output', 'name'], yaml, report), reportTemplate),
  };
}

interface Compiling {
  yaml: YamlFile;
  report: (path: Path, text: string) => void;
  reportTemplate: (path: Path, text: string) => void;
  files: InputFiles;
}

/** What a scene puts into a workflow, with which one that is: an edited workflow makes other scenes. */
function compileSet(
  root: JsonObject,
  workflow: string,
  { yaml, report, reportTemplate, files }: Compiling,
): InputTemplate | undefined {
  if (root['input'] !== undefined)
    report(
      ['input'],
      'input is not used with ComfyUI, which is sent endpoint.workflow; set its inputs in endpoint.set',
    );
  const path = ['endpoint', 'set'];
  const set = isJsonObject(root['endpoint']) ? root['endpoint']['set'] : undefined;
  if (!isJsonObject(set)) return undefined;
  const compiled = compileInput(withVariables(set, path, yaml, report), reportTemplate, files, path);
  return {
    ...compiled,
    text: JSON.stringify({ workflow, set: JSON.parse(compiled.text) as JsonValue }),
    render: (columns, known) => ({ workflow, set: compiled.render(columns, known) }),
  };
}

/** Variables in `input` with their types; one that brings a placeholder is reported instead of run. */
function withVariables<T extends JsonValue>(
  value: T,
  path: (string | number)[],
  yaml: YamlFile,
  report: (path: Path, text: string) => void,
): T {
  if (Array.isArray(value))
    return value.map((item, i) => withVariables(item, [...path, i], yaml, report)) as T;
  if (isJsonObject(value)) {
    const entries = Object.entries(value).map(([key, item]) => [
      key,
      withVariables(item, [...path, key], yaml, report),
    ]);
    return Object.fromEntries(entries) as T;
  }
  const written = yaml.writtenAs(path);
  if (typeof value !== 'string' || written === undefined) return value;
  if (delimitersIn(value) !== delimitersIn(written)) {
    report(path, 'a variable contains {{ or {%; placeholders are allowed in the file only');
    return '' as T;
  }
  return (yaml.fromEnvironment(path) === 'whole' ? typedText(value) : value) as T;
}

function delimitersIn(text: string): number {
  return text.match(/\{[{%]|[}%]\}/g)?.length ?? 0;
}

/** A name whose placeholders are each one part of a path at most; the template's own slashes make folders. */
function compileName(text: string, report: (path: Path, text: string) => void): Template {
  try {
    const template = compileTemplate(text, portableSegment);
    if (sendsFiles(text)) throw new TemplateError('file_base64 works under input only');
    return { ...template, renderText: (values) => portablePath(template.renderText(values)) };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    report(['output', 'name'], error.message);
    return compileTemplate('');
  }
}
