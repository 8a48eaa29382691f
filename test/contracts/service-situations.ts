/**
 * Table of situations: an answer of the service, and the reply of the port `RenderService`, for every kind of service.
 */
import { expect } from 'vitest';
import { promptIdOf } from '../../src/protocol/comfyui-workflow.ts';
import { answer, answerJson, inTurn, type Script } from '../fakes/scripted-server.ts';
import { ended, failure, withheld } from '../runner/client/client.ts';
import {
  absent,
  bodyLimit,
  jobId,
  key,
  onePixel,
  ownBytes,
  ownPath,
  type Addresses,
  type Answers,
  type ServiceName,
  type SpokenService,
} from './spoken-services.ts';

export type Spoken = Addresses & SpokenService;

export interface Meaning {
  answers: Answers | ((at: Spoken) => Answers);
  /** Expected reply of the port. A list has one reply for each request. */
  reply: object | ((at: Spoken) => object);
}

/** Differences at some services, or the reason why they cannot be in this situation. */
type Exceptions = Partial<Record<ServiceName, Partial<Meaning> | string>>;

export type Situations = Record<string, [Meaning['answers'], Meaning['reply'], Exceptions?]>;

const page = '<html><head><TITLE>\n 502 Bad Gateway </TITLE></head></html>';
const anyText: unknown = expect.stringMatching(/./);
const missing = { kind: 'missing', text: anyText };
const large = answer(200, ' '.repeat(bodyLimit + 1));
const broken: Script = (socket) => socket.destroy();
const redirectCodes = [301, 302, 303, 307, 308];
const serverErrors = [500, 502, 503, 504, 520, 524];

const noWords = 'it has no words for states: a job is in its queue, in its history, or in neither';
const noStates = 'its failures have no states of their own: a workflow ends, or a node fails';
const ownId = 'the client chooses the id, so that the job can be looked for whatever the answer says';
const inStatus = 'its result is in the answer that says that it is done';
const elsewhereThanQueue = 'its list is at another host than its queue, and only that is set here';
const noList = 'it has no list of jobs';
const noArchive = 'it has no archive here';
const noKey = 'the key goes to no picture, as workers choose the addresses';

export const submissions: Situations = {
  'is accepted': [{}, ({ accepted, ...at }) => accepted(at).reply],
  'is accepted by an answer that is cut behind the id': [
    { submit: answer(200, `{"id":"${jobId}","sta`) },
    { kind: 'accepted', jobId, status: '' },
    {
      replicate: { reply: { kind: 'accepted', jobId, status: '', idempotencyMs: 3_600_000 } },
      fal: {
        answers: { submit: answer(200, `{"request_id":"${jobId}","sta`) },
        reply: lostAsEach(failure('unanswered', 'without a job id at request_id (`submit.job`)')),
      },
      own: {
        answers: { submit: answer(200, `{"data":{"id":"${jobId}","sta`) },
        reply: lostAsEach(failure('unanswered', 'without a job id at data.id (`submit.job`)')),
      },
      comfyui: {
        answers: { submit: answer(200, `{"prompt_id":"${jobId}","num`) },
        reply: failure('unanswered', 'without a prompt_id'),
      },
    },
  ],
  ...byCode([400, 409, 413, 422], (status) => [
    { submit: answerJson({ error: 'too many steps' }, status) },
    failure('input-refused', 'too many steps'),
  ]),
  'is refused for a value that it sets': [
    { submit: answerJson({ detail: [{ loc: ['body'], msg: 'too many steps', input: key }] }, 422) },
    failure('input-refused', 'too many steps'),
    {
      comfyui: {
        answers: { submit: answerJson({ node_errors: nodeErrors('3', 'seed') }, 400) },
        reply: failure('input-refused', 'node 3 (LatentCut): too many steps'),
      },
    },
  ],
  ...byCode([401, 403], (status) => [
    { submit: answer(status, page) },
    failure('key-refused', new RegExp(`\\(${status}: an HTML page`)),
  ]),
  'is refused for the key within a 200': [
    { submit: answerJson({ status: 401, message: 'who are you?' }) },
    failure('key-refused', 'who are you?'),
    {
      own: { answers: { submit: answerJson({ data: { state: 401 }, message: 'who are you?' }) } },
      comfyui: noWords,
    },
  ],
  'is refused because the account has no money': [
    { submit: answerJson({ detail: 'insufficient credit' }, 402) },
    failure('account-unusable', 'insufficient credit'),
    { fal: { answers: { submit: answerJson({ detail: 'Exhausted balance insufficient credit' }, 403) } } },
  ],
  ...byCode([404, 405, 410], (status) => [
    { submit: answer(status) },
    failure('endpoint-unknown', String(status)),
  ]),
  'names an endpoint that does not exist': [
    { submit: answerJson({ detail: 'no such endpoint' }, 404) },
    failure('endpoint-unknown', 'no such endpoint'),
    {
      replicate: {
        answers: { submit: answerJson({ title: 'Invalid version or not permitted', status: 422 }, 422) },
        reply: failure('endpoint-unknown', 'Invalid version'),
      },
      comfyui: { reply: failure('endpoint-unknown', 'there is no ComfyUI at http:') },
    },
  ],
  ...byCode([425, 429], (status) => [{ submit: answer(status) }, failure('overloaded', String(status))]),
  'is one too many for now': [
    { submit: answer(429, '', { 'Retry-After': '7' }) },
    { kind: 'failure', failure: { kind: 'overloaded', text: anyText, retryAfterMs: 7_000 } },
    { replicate: { answers: { submit: answerJson({ detail: 'throttled', retry_after: 7 }, 429) } } },
  ],
  'is one too many for a service that says when it will be back': [
    { submit: answer(503, '', { 'Retry-After': '7' }) },
    { kind: 'failure', failure: { kind: 'overloaded', text: anyText, retryAfterMs: 7_000 } },
  ],
  'gets 503 and no time to come back': [
    { submit: answer(503, '', { 'Retry-After': '0' }) },
    failure('unanswered', '503'),
  ],
  'gets 503 from a cache, which may have passed it on': [
    { submit: answer(503, '<!DOCTYPE html><title>503 Backend fetch failed</title>', { 'Retry-After': '5' }) },
    failure('unanswered', /503: an HTML page, "503 Backend fetch failed"/),
  ],
  'gets no answer': [{ submit: broken }, failure('unanswered', /\(http:/)],
  'gets an answer that is larger than the limit': [
    { submit: large },
    failure('unanswered', /too large|larger than/),
  ],
  ...byCode([408, ...serverErrors], (status) => [
    { submit: answer(status, page) },
    failure('unanswered', new RegExp(`answered ${status}: an HTML page, "502 Bad Gateway"`)),
  ]),
  ...(Object.fromEntries(
    [page, '', '[]', '{}', '{"error":"try again"}'].map((body) => [
      `is answered 200 with ${JSON.stringify(body)}`,
      [
        { submit: answer(200, body) },
        failure('unanswered', /without a (job id|prompt_id)/),
        {
          // The first such answer already ends the run: a gateway may put the id elsewhere, and every submission would
          // be paid for in vain.
          fal: { reply: lostAsEach(failure('unanswered', 'without a job id at request_id')) },
          replicate: { reply: lostAsEach(failure('unanswered', 'without a job id at id')) },
          own: { reply: lostAsEach(failure('unanswered', 'without a job id at data.id')) },
          ...(body.includes('error') && { comfyui: 'an error is a refusal there, whatever the code' }),
        },
      ],
    ]),
  ) as Situations),
  'is accepted under an id with which no job can be polled': [
    { submit: answerJson({ id: 'job 7', request_id: 'job 7', data: { id: 'job 7' } }) },
    lostAsEach(failure('unanswered', 'unusable id "job 7"')),
    { comfyui: ownId },
  ],
  'is accepted under an id that has the key in it': [
    { submit: answerJson({ id: 'canary-secret-1', data: { id: 'canary-secret-1' } }) },
    lostAsEach(failure('unanswered', 'the service put the key into the job id')),
    {
      fal: {
        answers: {
          submit: answerJson({ request_id: jobId, status_url: key, response_url: '/', cancel_url: '/' }),
        },
      },
      comfyui: { answers: { submit: answerJson({ prompt_id: 'canary-secret-1' }) } },
    },
  ],
  ...byCode(redirectCodes, (status) => [
    ({ other }) => ({ submit: answer(status, '', { Location: `${other}/else` }) }),
    ({ other }) => failure('endpoint-unknown', `(${status}) to ${other}/else`),
  ]),
  'is redirected within the service': [
    { submit: answer(307, '', { Location: '/else' }) },
    failure('endpoint-unknown', '(307) to /else'),
  ],
};

export const lostSubmissions: Situations = {
  'is looked for, and has a job': [
    {},
    { kind: 'accepted', jobId, status: 'IN_QUEUE' },
    {
      fal: { reply: { kind: 'not-found', text: expect.stringContaining('at another host') as unknown } },
      replicate: {
        answers: {
          list: answerJson({
            results: [{ id: jobId, status: 'starting', input: { prompt: 'a hill', seed: 5 } }],
          }),
        },
        reply: { kind: 'accepted', jobId, status: 'starting', idempotencyMs: 3_600_000 },
      },
      own: {
        answers: {
          list: inTurn(
            answerJson({ jobs: [{ id: 'j2', params: { prompt: 'a hill', seed: 6 } }], next: 2 }),
            answerJson({ jobs: [], next: 'three' }),
            answerJson({ jobs: [{ id: jobId, params: { seed: 5, prompt: 'a hill' } }], next: null }),
          ),
        },
        reply: ({ url }) => ({
          kind: 'accepted',
          jobId,
          status: '',
          kept: { page: `${url}/pages/${jobId}` },
          idempotencyMs: 1_800_000,
        }),
      },
      comfyui: {
        answers: { status: answerJson({ queue_running: [[1, promptIdOf('night-1')]], queue_pending: [] }) },
        reply: {
          kind: 'accepted',
          jobId: promptIdOf('night-1'),
          status: 'pending',
          kept: { seed: '5' },
          idempotencyMs: 86_400_000,
        },
      },
    },
  ],
  'is looked for, and has no job': [
    { list: answerJson({ results: [] }), ...absent },
    { kind: 'not-listed', text: anyText },
    {
      jobs: 'it is sent again under its key, and so is the same job',
      fal: { reply: { kind: 'not-found', text: anyText } },
      own: { answers: { list: answerJson({ jobs: [] }) } },
      comfyui: { reply: { kind: 'not-found', text: anyText } },
    },
  ],
  ...inList('that is no list', answerJson({})),
  ...inList('whose next page cannot be named', answerJson({ jobs: [], results: [], next: { page: 2 } })),
  ...inList('that is not where it was', answer(404)),
  ...inList('that answers with a page', answer(200, page)),
  ...inList('that answers 502', answer(502, page)),
  ...inList('that is too large', large),
  ...inList('that has too many requests', answer(429, '', { 'Retry-After': '7' }), { retryAfterMs: 7_000 }),
  'is looked for if nobody answers': [
    { list: broken, status: broken, submit: broken },
    { kind: 'not-listed', text: anyText },
    {
      jobs: { reply: failure('unanswered') },
      fal: elsewhereThanQueue,
      comfyui: { reply: failure('poll-failed', '/queue)') },
    },
  ],
  'is looked for with a key that is refused': [
    { list: answer(401), status: answer(401), submit: answer(401) },
    failure('key-refused'),
    { fal: elsewhereThanQueue },
  ],
};

export const states: Situations = {
  'that waits': [{}, ({ words }) => running(words.waiting, false)],
  'that runs': [({ says }) => says('running'), ({ words }) => running(words.running, true)],
  'that is done': [
    ({ says, outputOf }) => says('done', { output: outputOf(onePixel, onePixel) }),
    ({ words, told }) => completed(words.done, [base64(told), base64(told)]),
    { comfyui: { reply: ({ words, told }) => completed(words.done, [own(told), own(told)]) } },
  ],
  'whose state is not known': [({ says }) => says('unknown'), running('PAUSED', false), { comfyui: noWords }],
  'whose state is not known, with an output': [
    ({ says, outputOf }) => says('unknown', { output: outputOf(onePixel) }),
    over('PAUSED', ended('status-unknown', '"PAUSED": done')),
    { fal: 'its results are elsewhere', comfyui: noWords },
  ],
  'whose state is not known, with an error': [
    ({ says }) => says('unknown', { error: 'no GPU' }),
    over('PAUSED', ended('status-unknown', '"PAUSED": failed')),
    { comfyui: noWords },
  ],
  'that has failed': [
    ({ says }) => says('failed', { error: 'CUDA out of memory' }),
    ({ words }) => over(words.failed, ended('job-failed', /: CUDA out of memory$/)),
    {
      fal: { reply: over('COMPLETED', ended('failed-inside', 'its result is 409: CUDA out of memory')) },
      comfyui: { reply: over('error', ended('job-failed', /node 3 \(LatentCut\): .*CUDA out of memory$/)) },
    },
  ],
  'that is done, with a failure inside': [
    ({ says }) => says('done', { error: 'no memory' }),
    ({ words }) => over(words.done, ended('failed-inside', 'no memory')),
    {
      jobs: { answers: ({ says }) => says('done', { output: { status: 'error', message: 'no memory' } }) },
      comfyui: noStates,
    },
  ],
  'whose content was refused': [
    ({ says }) => says('failed', { error: 'NSFW content detected' }),
    ({ words }) => over(words.failed, ended('content-refused', 'NSFW content detected')),
    { comfyui: noStates },
  ],
  'that was cancelled': [
    ({ says }) => says('cancelled'),
    ({ words }) => over(words.cancelled, ended('job-cancelled')),
    { fal: { answers: ({ says }) => says('cancelled', { error: 'client_cancelled' }) } },
  ],
  'that took too long': [
    ({ says }) => says('late'),
    ({ words }) => over(words.late, ended('job-timed-out')),
    { fal: 'it has no time-out of its own that shows', comfyui: noStates },
  ],
  ...byCode([404, 410], (status) => [
    { status: answerJson({ detail: 'no such job' }, status) },
    { kind: 'missing', text: expect.stringContaining(`${status}: no such job`) as unknown },
    { comfyui: { reply: failure('poll-failed', `/queue was answered ${status}`) } },
  ]),
  'that the service has forgotten': [
    { status: answer(404, page) },
    missing,
    {
      fal: { answers: ({ says }) => ({ ...says('done'), result: answer(410) }) },
      replicate: {
        answers: { status: answerJson({ id: jobId, status: 'succeeded', output: null, data_removed: true }) },
        reply: { ...missing, isDeleted: true },
      },
      comfyui: { answers: absent },
    },
  ],
  ...inArchive('and is done', { code: 200, outputs: [onePixel] }, ({ words, told }) =>
    completed(words.done, [base64(told)]),
  ),
  ...inArchive('and runs', { code: null }, ({ words }) => running(words.waiting, false)),
  ...inArchive(
    'and was refused',
    { code: 422, outputs: { data: { problem: 'too many steps' } } },
    ({ words }) => over(words.done, ended('input-refused', 'too many steps')),
  ),
  ...inArchive('and failed without a word', { code: 500, outputs: null }, ({ words }) =>
    over(words.done, ended('failed-inside', '500')),
  ),
  'that is only in an archive that refuses the key': [
    { status: answer(404), archive: answerJson({ message: 'not for this key' }, 403) },
    withheld('picture-refused', 'not for this key'),
    { jobs: noArchive, fal: noArchive, replicate: noArchive, comfyui: noArchive },
  ],
  ...inArchive('and has no output', { code: 200, outputs: null }, () => missing),
  ...inArchive('as another job', { id: 'j2', code: 200, outputs: [onePixel] }, () => missing),
  'that is done, without an output': [
    ({ says }) => says('done'),
    ({ words }) => over(words.done, ended('no-output')),
  ],
  'that is done, with an output of no known shape': [
    ({ says }) => says('done', { output: { depth: 3 } }),
    ({ words }) => over(words.done, ended('picture-not-found', /"depth".*output\.image/)),
    { comfyui: 'its history names files, or none' },
  ],
  'that is done, with a clip where pictures are looked for': [
    ({ says, clipOutput }) => says('done', { output: clipOutput }),
    ({ words }) => over(words.done, ended('picture-not-found', 'set `output.media: video`')),
  ],
  'whose result is larger than the limit': [
    { status: large },
    ({ words }) => over(words.done, ended('result-too-large', 'larger than 20000 bytes (`limits.body`)')),
    {
      fal: { answers: ({ says }) => ({ ...says('done'), result: large }) },
      comfyui: {
        answers: ({ says, outputOf }) => ({ ...says('done', { output: outputOf('') }), picture: large }),
      },
    },
  ],
  'whose result gets no answer': [
    ({ says }) => ({ ...says('done'), result: answer(502, page) }),
    withheld('poll-failed', /answered 502: an HTML page, "502 Bad Gateway"/),
    {
      jobs: inStatus,
      replicate: inStatus,
      own: inStatus,
      comfyui: { reply: failure('poll-failed', /answered 502: an HTML page/) },
    },
  ],
  'that is done, with a picture elsewhere': [
    ({ says, outputOf }) => says('done', { output: outputOf('https://cdn.example/a.png') }),
    ({ words, told }) => completed(words.done, [{ url: 'https://cdn.example/a.png', ...told }]),
    { comfyui: 'its history names files, and no addresses' },
  ],
  'whose result is redirected to another host': [
    ({ says, other }) => ({ ...says('done'), result: answer(307, '', { Location: `${other}/else` }) }),
    ({ other }) => withheld('poll-failed', `a redirect to ${other}/else`),
    {
      jobs: inStatus,
      replicate: inStatus,
      own: inStatus,
      comfyui: { reply: ({ other }) => failure('poll-failed', `a redirect to ${other}/else`) },
    },
  ],
  'whose answer is that of another job': [
    { status: answerJson({ id: 'j2', request_id: 'j2', status: 'COMPLETED', output: [onePixel] }) },
    { ...failure('poll-failed', 'the status of job j2'), isForeign: true },
    {
      own: {
        answers: ({ says }) => ({
          status: inTurn(
            says('waiting').status ?? broken,
            answerJson({ data: { id: 'j2', state: 'ready' } }),
          ),
        }),
        reply: [
          running('queued', false),
          { ...failure('poll-failed', 'the status of job j2'), isForeign: true },
        ],
      },
      comfyui: {
        answers: { ...absent, result: answerJson({ j2: { outputs: {}, status: { completed: true } } }) },
        reply: failure('poll-failed', 'the history of ComfyUI cannot be read'),
      },
    },
  ],
  ...byCode([401, 403], (status) => [
    { status: answer(status, page) },
    failure('key-refused', String(status)),
  ]),
  'whose key is refused in the middle': [
    ({ says }) => {
      const { status = broken } = says('waiting');
      return { status: inTurn(status, answer(401), status) };
    },
    ({ words: { waiting } }) => [running(waiting, false), failure('key-refused'), running(waiting, false)],
  ],
  'whose account is out of money': [{ status: answer(402) }, failure('account-unusable', '402')],
  'that is polled too often': [
    { status: answer(429, '', { 'Retry-After': '7' }) },
    { kind: 'failure', failure: { kind: 'overloaded', text: anyText, retryAfterMs: 7_000 } },
  ],
  'whose status gets no answer': [{ status: broken }, failure('poll-failed', /\(http:/)],
  ...byCode([425, 429], (status) => [{ status: answer(status) }, failure('overloaded', String(status))]),
  ...byCode([400, 408, ...serverErrors], (status) => [
    { status: answer(status, page) },
    failure('poll-failed', new RegExp(`answered ${status}: an HTML page, "502 Bad Gateway"`)),
  ]),
  'whose status is in a 502': [
    { status: answerJson({ id: jobId, status: 'FAILED', data: { state: 'broken' } }, 502) },
    failure('poll-failed', '502'),
  ],
  ...Object.fromEntries(
    [page, '', '{"status":"COMPL', '{"error":"odd"}', '[{"status":"COMPLETED"}]', '{"status":{"a":1}}'].map(
      (body) => [
        `whose status is answered 200 with ${JSON.stringify(body)}`,
        [{ status: answer(200, body) }, failure('poll-failed')],
      ],
    ),
  ),
  ...byCode(redirectCodes, (status) => [
    ({ other }) => ({ status: answer(status, '', { Location: `${other}/else` }) }),
    ({ other }) => failure('poll-failed', `a redirect to ${other}/else`),
  ]),
  'whose status is elsewhere at the service': [
    ({ says }) => {
      const there = (query: string): Script => answer(307, '', { Location: query });
      return { status: inTurn(there('?again'), there('?more'), says('waiting').status ?? broken) };
    },
    ({ words }) => running(words.waiting, false),
  ],
  'whose status is nowhere, redirect after redirect': [
    { status: answer(302, '', { Location: '?again' }) },
    failure('poll-failed', 'a redirect to'),
  ],
};

export const pictures: Situations = {
  'comes with the key': [
    {},
    ({ words, told }) => completed(words.done, [own(told)]),
    {
      jobs: {
        reply: ({ url, words, told }) => completed(words.done, [{ url: `${url}${ownPath}`, ...told }]),
      },
    },
  ],
  'is redirected to another host, and downloaded without the key': [
    ({ other }) => ({ picture: answer(302, '', { Location: `${other}/b.png` }) }),
    ({ other, words, told }) => completed(words.done, [{ url: `${other}/b.png`, ...told }]),
    { jobs: noKey },
  ],
  ...byCode([401, 403], (status) => [
    { picture: answer(status) },
    withheld('picture-refused', `was answered ${status}`),
    { jobs: noKey },
  ]),
  ...byCode([400, 404, 408, 425], (status) => [
    { picture: answer(status) },
    withheld('download-failed', `was answered ${status}`, status === 404),
    {
      jobs: noKey,
      ...(status === 404 && {
        comfyui: { reply: withheld('no-output', 'a.png of node 9 no longer exists', true) },
      }),
    },
  ]),
  ...byCode([429, ...serverErrors], (status) => [
    { picture: answer(status) },
    withheld('download-failed', `was answered ${status}`),
    { jobs: noKey },
  ]),
  'gets no answer': [{ picture: broken }, withheld('download-failed', /\(http:/), { jobs: noKey }],
  'comes empty': [{ picture: answer(200) }, withheld('download-failed', /came empty$/), { jobs: noKey }],
  'is redirected to nowhere': [
    { picture: answer(302) },
    withheld('download-failed', 'was answered 302'),
    { jobs: noKey },
  ],
  'is redirected to itself': [
    { picture: answer(302, '', { Location: '?again' }) },
    withheld('download-failed', 'was answered 302'),
    { jobs: noKey },
  ],
  'is larger than the limit': [
    { picture: large },
    { ...ended('result-too-large', 'larger than 20000 bytes'), status: anyText },
    { jobs: noKey },
  ],
};

export const cancellations: Situations = {
  'is accepted': [
    {},
    { kind: 'cancelled' },
    { comfyui: { answers: { status: inTurn(queueWith(jobId), queueWith()), result: answerJson({}) } } },
  ],
  'of an ended job is not accepted': [
    { cancel: answerJson({ status: 'ALREADY_COMPLETED' }, 400) },
    { kind: 'unsupported', text: anyText },
    { comfyui: { answers: absent } },
  ],
  ...byCode([400, 404, 405, 409, 410, 422, 501], (status) => [
    { cancel: answer(status) },
    { kind: 'unsupported', text: expect.stringContaining(`(${status}: no message)`) as unknown },
    { comfyui: { reply: failure('poll-failed', `/queue was answered ${status}`) } },
  ]),
  ...byCode([401, 403], (status) => [{ cancel: answer(status) }, failure('key-refused', String(status))]),
  ...byCode([425, 429], (status) => [{ cancel: answer(status) }, failure('overloaded', String(status))]),
  ...byCode([302, 408, ...serverErrors], (status) => [
    { cancel: answer(status) },
    failure('poll-failed', String(status)),
  ]),
  'gets no answer': [{ cancel: broken }, failure('poll-failed', /\(http:/)],
  'is redirected elsewhere': [
    ({ other }) => ({ cancel: answer(307, '', { Location: `${other}/else` }) }),
    ({ other }) => failure('poll-failed', `a redirect to ${other}/else`),
  ],
};

const elsewhere = 'it is checked at another address than that of its jobs';

export const endpoints: Situations = {
  exists: [
    { health: answerJson({ jobs: { inQueue: 1 } }) },
    { kind: 'answers', health: { workers: {}, jobs: { inQueue: 1 } } },
    {
      fal: { reply: { kind: 'unknown', text: anyText, isUnasked: true } },
      replicate: { reply: { kind: 'answers', idempotencyMs: 3_600_000 } },
      own: { reply: { kind: 'answers', idempotencyMs: 1_800_000 } },
      comfyui: {
        reply: {
          kind: 'answers',
          health: { workers: {}, jobs: { inProgress: 0, inQueue: 1 } },
          idempotencyMs: 86_400_000,
        },
      },
    },
  ],
  ...byCode([404, 410], (status) => [
    { health: answer(status) },
    { kind: 'unknown', text: expect.stringContaining(`(${status}: no message)`) as unknown },
    { fal: elsewhere, comfyui: { reply: failure('poll-failed', `/system_stats was answered ${status}`) } },
  ]),
  ...byCode([401, 403], (status) => [
    { health: answer(status) },
    failure('key-refused', String(status)),
    { fal: elsewhere },
  ]),
  ...byCode([302, 400, 408, ...serverErrors], (status) => [
    { health: answer(status) },
    failure('poll-failed', String(status)),
    { fal: elsewhere },
  ]),
  ...byCode([405, 501], (status) => [
    { health: answer(status) },
    failure('poll-failed', String(status)),
    { jobs: { reply: { kind: 'unknown', text: anyText } }, fal: elsewhere },
  ]),
  'does not answer': [{ health: broken }, failure('poll-failed', /\(http:/), { fal: elsewhere }],
};

/** Returns a situation in which the list of jobs says nothing about the submission. */
function inList(told: string, list: Script, more: object = {}): Situations {
  const others = { jobs: noList, fal: elsewhereThanQueue, comfyui: noList };
  return {
    [`is looked for in a list ${told}`]: [{ list }, { kind: 'not-listed', text: anyText, ...more }, others],
  };
}

/** Returns a situation in which the service no longer has the job, and its archive answers `said`. */
function inArchive(told: string, said: object, reply: (at: Spoken) => object): Situations {
  const others = { jobs: noArchive, fal: noArchive, replicate: noArchive, comfyui: noArchive };
  const archive = answerJson({ id: jobId, ...said });
  return { [`that is only in the archive, ${told}`]: [{ status: answer(404), archive }, reply, others] };
}

function byCode(codes: number[], row: (status: number) => Situations[string]): Situations {
  return Object.fromEntries(codes.map((code) => [`answered ${code}`, row(code)]));
}

/**
 * Returns the reply with a mark that each submission is lost, because the service names jobs in a way that cannot be
 * requested.
 */
function lostAsEach(reply: object): object {
  return { ...reply, isEachLost: true };
}

function running(word: string, isExecuting: boolean): object {
  return { kind: 'running', status: word, isExecuting };
}

function completed(word: string, found: object[]): object {
  return { kind: 'completed', status: word, pictures: found };
}

function queueWith(...ids: string[]): Script {
  return answerJson({ queue_running: [], queue_pending: ids.map((id) => [1, id]) });
}

function over(word: string, reply: object): object {
  return { ...reply, status: word };
}

function base64(told: object): object {
  return { base64: onePixel, ...told };
}

function own(told: object): object {
  return { bytes: ownBytes, isDownloaded: true, ...told };
}

function nodeErrors(node: string, name: string): object {
  const error = {
    type: 'value_bigger_than_max',
    message: 'too many steps',
    extra_info: { input_name: name },
  };
  return { [node]: { class_type: 'LatentCut', errors: [error] } };
}
