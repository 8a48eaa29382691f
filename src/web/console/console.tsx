/** The console of `nightrender serve`: endpoints, jobs and keys. */
import { render, type JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type {
  BulkCount,
  CatalogueEntry,
  EndpointFields,
  FailedWebhooks as Failed,
  Overview,
} from '../../protocol/console-data.ts';
import { Dialog } from '../shared/dialog.tsx';
import { useNow } from '../shared/hooks.ts';
import { counted, countWords, durationWords, hourWords } from '../shared/number-words.ts';
import { ask, Refused, signIn, signOut, untilKnown, updateLink, useLink, usePolled } from './ask.ts';
import { EndpointPage } from './endpoint-page.tsx';
import { EditPage, NewPage } from './endpoint-form.tsx';
import { Form, useFocusKept, useSending, Field } from './form.tsx';
import { JobList } from './job-list.tsx';
import { JobPage } from './job-page.tsx';
import { KeysPage } from './keys-page.tsx';
import { MachinesPage, AddMachinePage } from './machines-page.tsx';
import { OverviewPage } from './overview-page.tsx';
import { Card, Mark, NothingHere } from './pieces.tsx';
import { type Route, type Service, ServiceContext, to, useRoute, useService } from './route.ts';

function ConsolePage(): JSX.Element {
  const [hash, route] = useRoute();
  const { isSignedOut, awaySince } = useLink();
  const { data: overview, refused, refresh } = usePolled<Overview>('overview', () => 2_000);
  const { data: catalogue } = usePolled<CatalogueEntry[]>('catalogue', untilKnown);
  const { data: fields } = usePolled<EndpointFields>('endpoint-fields', untilKnown);
  const [said, setSaid] = useState({ text: '', at: '' });
  const say = useCallback((text: string, at = location.hash) => setSaid({ text, at }), []);
  const aheadMs = useMemo(() => (overview?.now ?? Date.now()) - Date.now(), [overview]);
  const isThere = overview !== undefined && catalogue !== undefined && fields !== undefined;
  useArrival(hash, isThere, isSignedOut && !isThere);
  if (!isThere) {
    if (isSignedOut) return <Entrance />;
    return (
      <p class="waiting" role="status">
        {awaySince === null
          ? (refused?.message ?? 'Looking …')
          : 'The service does not answer yet; trying again …'}
      </p>
    );
  }
  const service: Service = { overview, catalogue, fields, aheadMs, refresh, say };
  return (
    <ServiceContext.Provider value={service}>
      <TopBar route={route} />
      <AwayNotice />
      {overview.isReadOnly && (
        <p class="hint">You are signed in with a read-only key: the service refuses every change.</p>
      )}
      <p class="message good" role="status">
        {said.at === hash ? said.text : ''}
      </p>
      <main class="stack wide">
        <Routed key={hash} route={route} />
      </main>
      <footer>
        {overview.program} · Manual: <a href="help/service">service</a>, <a href="help/workers">workers</a>,{' '}
        <a href="help/console">console</a>, <a href="help/security">security</a>
      </footer>
      {isSignedOut && (
        <Dialog title="Sign in again">
          <p>Your session has ended. Your input is kept.</p>
          <SignIn />
        </Dialog>
      )}
    </ServiceContext.Provider>
  );
}

function TopBar({ route }: { route: Route }): JSX.Element {
  const { say } = useService();
  const leave = async (): Promise<void> => {
    try {
      await signOut();
    } catch (error) {
      // A refusal means that the session has already ended.
      if (!(error instanceof Refused)) return say('Not signed out: the service does not respond.');
    }
    // Reloading clears everything that was shown or typed from memory.
    location.hash = to.overview;
    location.reload();
  };
  const current = sectionOf(route);
  return (
    <header class="row masthead">
      <span class="brand">nightrender</span>
      <nav aria-label="Console" class="tabs">
        {(Object.keys(sections) as (keyof typeof sections)[]).map((page) => (
          <a key={page} href={to[page]} aria-current={page === current ? 'page' : undefined}>
            {sections[page]}
          </a>
        ))}
      </nav>
      <button type="button" class="small" onClick={() => void leave()}>
        Sign out
      </button>
    </header>
  );
}

const sections = { overview: 'Endpoints', jobs: 'Jobs', machines: 'Machines', keys: 'Keys' } as const;

function sectionOf({ page }: Route): keyof typeof sections | undefined {
  if (page === 'keys') return 'keys';
  if (page === 'job' || page === 'jobs') return 'jobs';
  if (page === 'machines' || page === 'addMachine') return 'machines';
  return page === 'nowhere' ? undefined : 'overview';
}

/** Warns that the service does not answer; the page keeps showing its last state. */
function AwayNotice(): JSX.Element {
  const { awaySince } = useLink();
  return (
    <div role="status">
      {awaySince !== null && (
        <p class="message bad">
          The service has not answered since {hourWords(awaySince)}; trying again. The page shows the state of
          that time.
        </p>
      )}
    </div>
  );
}

function Entrance(): JSX.Element {
  return (
    <main class="stack entrance">
      <p class="brand">nightrender</p>
      <h1>Console</h1>
      <SignIn />
    </main>
  );
}

function Routed({ route }: { route: Route }): JSX.Element {
  switch (route.page) {
    case 'overview':
      return <OverviewPage />;
    case 'new':
      return <NewPage />;
    case 'jobs':
      return (
        <>
          <h1>Jobs</h1>
          <FailedWebhooks />
          <JobList endpoint={null} />
        </>
      );
    case 'machines':
      return <MachinesPage />;
    case 'addMachine':
      return <AddMachinePage />;
    case 'keys':
      return <KeysPage />;
    case 'endpoint':
      return <EndpointPage id={route.id} />;
    case 'edit':
      return <EditPage id={route.id} />;
    case 'job':
      return <JobPage id={route.id} />;
    case 'nowhere':
      return (
        <NothingHere
          title="No such page"
          text="This console has no page at this address."
          back={to.overview}
        />
      );
  }
}

/** Webhooks that failed: the reason, the next try, and a button to send them again. */
function FailedWebhooks(): JSX.Element | null {
  const { data, refresh } = usePolled<Failed>('webhooks', () => 5_000);
  const { overview, aheadMs, say } = useService();
  const now = useNow(aheadMs, 1_000);
  const place = useFocusKept<HTMLDivElement>();
  const all = useSending(async () => {
    const { jobs } = await ask<BulkCount>('POST', 'webhooks/send');
    say(`${counted(jobs, 'webhook')} will be sent again.`);
    await refresh();
  });
  const one = useSending(async (job: string) => {
    await ask('POST', `webhooks/${encodeURIComponent(job)}/send`);
    await refresh();
  });
  if (data === undefined || data.webhooks.length === 0) return null;
  const { webhooks, givenUp, waiting } = data;
  const others = givenUp + waiting - webhooks.length;
  return (
    <Card title="Webhooks that failed">
      <div ref={place} class="row" tabIndex={-1}>
        <p class="soft">
          {countWords(givenUp)} given up, {countWords(waiting)} to be tried again. They are deleted with their
          jobs, {durationWords(overview.retentionMs)} after these ended.
        </p>
        {givenUp > 0 && (
          <button type="button" aria-disabled={all.isBusy} onClick={() => all.send()}>
            Send all again
          </button>
        )}
      </div>
      <p class="problem" role="alert">
        {[...all.problems, ...one.problems][0]?.text}
      </p>
      <ul class="list">
        {webhooks.map((webhook) => (
          <li key={webhook.job} class="stack">
            <div class="row">
              <h3>
                <bdi>{webhook.host}</bdi>
              </h3>
              <NextTry dueAt={webhook.dueAt} now={now} />
              <button
                type="button"
                class="small"
                aria-label={`Send the webhook of job ${webhook.job} again`}
                aria-disabled={one.isBusy}
                onClick={() => one.send(webhook.job)}
              >
                Send again
              </button>
            </div>
            <p class="hint">
              {webhook.why} · {counted(webhook.tries, 'try', 'tries')} · {webhook.endpointId} ·{' '}
              <a href={to.job(webhook.job)}>job {webhook.job}</a>
            </p>
          </li>
        ))}
      </ul>
      {others > 0 && <p class="soft">{countWords(others)} more.</p>}
    </Card>
  );
}

function NextTry({ dueAt, now }: { dueAt: number | null; now: number }): JSX.Element {
  if (dueAt === null) return <Mark tone="bad">given up</Mark>;
  return (
    <Mark tone="wait">
      {dueAt <= now ? 'waiting for its turn' : `again in ${durationWords(dueAt - now)}`}
    </Mark>
  );
}

/** Sets the title. After a link, scrolls up and focuses the heading, for keyboards and screen readers. */
function useArrival(hash: string, isReady: boolean, isAtEntrance: boolean): void {
  const last = useRef<string | undefined>(hash);
  // Signing in counts as an arrival at the page, too.
  if (isAtEntrance) last.current = undefined;
  useLayoutEffect(() => {
    const heading = document.querySelector<HTMLElement>('main h1');
    document.title = `${heading === null ? '' : `${heading.textContent} · `}nightrender`;
    if (!isReady || last.current === hash || heading === null) return;
    last.current = hash;
    scrollTo(0, 0);
    heading.tabIndex = -1;
    heading.focus();
  }, [hash, isReady]);
}

const root = document.querySelector('#page');
if (root !== null) void enter(root);

/** Checks the session before the first request, because browsers would log a refused request as an error. */
async function enter(place: Element): Promise<void> {
  const session = ask<{ signedIn: boolean }>('GET', 'session').catch(() => ({ signedIn: true }));
  if (!(await session).signedIn) updateLink({ isSignedOut: true });
  render(<ConsolePage />, place);
}

function SignIn(): JSX.Element {
  const [key, setKey] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const sending = useSending(async () => {
    if (key.trim() === '') return [{ field: 'key', text: 'Enter a key.' }];
    try {
      return await signIn(key.trim());
    } catch (error) {
      if (error instanceof Refused) throw error;
      return [{ field: 'key', text: 'The service does not answer. Try again.' }];
    }
  });
  const hint = (
    <>
      The key that <code>nightrender serve</code> was started with, or one of the kind <em>admin</em>.
    </>
  );
  return (
    <Form sending={sending} class="card stack">
      <Field label="API key" hint={hint} problem={sending.problems[0]?.text ?? ''} isAlert>
        {(attributes) => (
          <input
            {...attributes}
            ref={field}
            type="password"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            autofocus
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        )}
      </Field>
      <button type="submit" class="primary" aria-disabled={sending.isBusy}>
        Sign in
      </button>
    </Form>
  );
}
