/** One operation of the job interface, as OpenAPI has it. */
import type { openApiSchemas } from './openapi-schemas.ts';

type SchemaName = keyof typeof openApiSchemas;

interface Operation {
  id: string;
  summary: string;
  answer: { description: string; schema?: SchemaName };
  body?: SchemaName;
  parameters?: string[];
  /** What this one may answer besides. */
  refused?: ('409' | '503' | '507')[];
}

/** What every operation may answer besides. */
const refusals = ['400', '401', '403', '404', '405', '429'];

export function operation({ id, summary, answer, body, parameters = [], refused = [] }: Operation) {
  const { description, schema } = answer;
  return {
    operationId: id,
    summary,
    tags: ['jobs'],
    ...(parameters.length > 0 && {
      parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    }),
    ...(body !== undefined && { requestBody: { required: true, content: json(body) } }),
    responses: {
      200: { description, ...(schema !== undefined && { content: json(schema) }) },
      ...Object.fromEntries(
        [...refusals, ...refused].map((code) => [code, { $ref: `#/components/responses/${code}` }]),
      ),
    },
  };
}

/** With the key of a worker; `none` is what is answered where there is nothing. */
export function workerOperation(given: Operation, none?: string) {
  const { responses: answers, ...rest } = operation(given);
  return {
    ...rest,
    tags: ['workers'],
    security: [{ workerKey: [] }],
    responses: { ...answers, ...(none !== undefined && { 204: { description: none } }) },
  };
}

/** Workers send JSON under the content type of a form. */
export function resultOperation(id: string, summary: string) {
  const schema = { $ref: '#/components/schemas/WorkerResult' };
  return {
    ...workerOperation({
      id,
      summary,
      answer: { description: 'It is kept, where it is still wanted.', schema: 'Heard' },
      refused: ['507'],
    }),
    requestBody: {
      required: true,
      content: { 'application/x-www-form-urlencoded': { schema }, 'application/json': { schema } },
    },
  };
}

export function json(schema: SchemaName) {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } };
}
