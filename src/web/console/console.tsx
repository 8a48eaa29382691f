/** The console of `nightrender serve`: endpoints, jobs and keys. */
import { render, type JSX } from 'preact';
import { useCallback, useLayoutEffect, useMemo, useRef, useState, useEffect } from 'preact/hooks';
import type { Overview } from '../../protocol/console-data.ts';
import { ask, Refused } from './ask.ts';
import { Dialog } from './dialog.tsx';
import { EndpointPage } from './endpoint-page.tsx';
import { EditPage, NewPage } from './form-pages.tsx';
import { JobPage } from './job-page.tsx';
import { KeysPage } from './keys-page.tsx';
import { updateLink, useLink } from './link.ts';
import { NothingHere } from './nothing-here.tsx';
import { OverviewPage } from './overview-page.tsx';
import { to, useRoute, type Route } from './route.ts';
import { ServiceContext, type Service } from './service.ts';
import { AwayNotice, TopBar } from './top-bar.tsx';
import { usePolled } from './use-polled.ts';
import { JobList } from './job-list.tsx';

function ConsolePage(): JSX.Element {
  const [hash, route] = useRoute();
  const { isSignedOut, awaySince } = useLink();
  const { data: overview, refused, refresh } = usePolled<Overview>('overview', 2_000);
  const [said, setSaid] = useState({ text: '', at: '' });
  const say = useCallback((text: string, at = location.hash) => setSaid({ text, at }), []);
  const aheadMs = useMemo(() => (overview?.now ?? Date.now()) - Date.now(), [overview]);
  useArrival(hash, overview !== undefined, isSignedOut && overview === undefined);
  if (overview === undefined) {
    if (isSignedOut) return <Entrance />;
    return (
      <p class="waiting" role="status">
        {awaySince === null
          ? (refused?.message ?? 'Looking …')
          : 'The service does not answer yet; trying again …'}
      </p>
    );
  }
  const service: Service = { overview, aheadMs, refresh, say };
  return (
    <ServiceContext.Provider value={service}>
      <TopBar route={route} />
      <AwayNotice />
      <p class="said" role="status">
        {said.at === hash ? said.text : ''}
      </p>
      <main>
        <Routed key={hash} route={route} />
      </main>
      <footer class="soft">
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

function Entrance(): JSX.Element {
  return (
    <main class="entrance">
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
      return <JobsPage />;
    case 'keys':
      return <KeysPage />;
    case 'endpoint':
      return <EndpointPage id={route.id} />;
    case 'edit':
      return <EditPage id={route.id} />;
    case 'job':
      return <JobPage id={route.id} />;
    case 'nowhere':
      return <NothingHere title="No such page" text="The address leads nowhere." back={to.overview} />;
  }
}

/** Names the tab, and takes a reader by keyboard or ear to the head of the page that a link led to. */
function useArrival(hash: string, isReady: boolean, isAtEntrance: boolean): void {
  const last = useRef<string | undefined>(hash);
  // Whoever has signed in arrives at the page, wherever he was before.
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

/** Whoever is not signed in is asked to before anything is refused, which browsers would tell as an error. */
async function enter(place: Element): Promise<void> {
  const session = ask<{ signedIn: boolean }>('GET', 'session').catch(() => ({ signedIn: true }));
  if (!(await session).signedIn) updateLink({ isSignedOut: true });
  render(<ConsolePage />, place);
}

/** The jobs of all endpoints. */
function JobsPage(): JSX.Element {
  return (
    <>
      <div class="page-head">
        <h1>Jobs</h1>
      </div>
      <section class="panel" aria-label="Jobs of all endpoints">
        <JobList endpoint={null} />
      </section>
    </>
  );
}

/** Signing in with a key. */
function SignIn(): JSX.Element {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const signIn = async (): Promise<void> => {
    if (isBusy) return;
    if (key.trim() === '') return setProblem('Give a key.');
    setIsBusy(true);
    setProblem('');
    try {
      await ask('POST', 'session', { key: key.trim() });
      updateLink({ isSignedOut: false });
    } catch (error) {
      setProblem(error instanceof Refused ? error.message : 'The service does not answer. Try again.');
      setIsBusy(false);
      field.current?.focus();
    }
  };
  return (
    <form
      class="sign-in stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void signIn();
      }}
    >
      <div class="field">
        <label for="key">API key</label>
        <input
          id="key"
          ref={field}
          type="password"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          autofocus
          value={key}
          aria-invalid={problem !== ''}
          aria-describedby="key-hint key-problem"
          onInput={(event) => setKey(event.currentTarget.value)}
        />
        <p id="key-hint" class="hint">
          The key that <code>nightrender serve</code> was started with, or one of the kind <em>admin</em>.
        </p>
        <p id="key-problem" class="problem" role="alert">
          {problem}
        </p>
      </div>
      <button type="submit" class="primary" aria-disabled={isBusy}>
        Sign in
      </button>
    </form>
  );
}
