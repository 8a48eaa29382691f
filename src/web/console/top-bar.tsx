/** What stands above every page: where one can go, and what concerns all of it. */
import type { JSX } from 'preact';
import { hourWords } from '../shared/number-words.ts';
import { ask, Refused, useLink } from './ask.ts';
import { to, type Route } from './route.ts';
import { useService } from './service.ts';

export function TopBar({ route }: { route: Route }): JSX.Element {
  const { say } = useService();
  const signOut = async (): Promise<void> => {
    try {
      await ask('DELETE', 'session');
    } catch (error) {
      // One that knows nobody here has nothing to sign out of.
      if (!(error instanceof Refused)) return say('Not signed out: the service does not respond.');
    }
    // Nothing of what was seen or typed stays in memory.
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
      <button type="button" class="small" onClick={() => void signOut()}>
        Sign out
      </button>
    </header>
  );
}

const sections = { overview: 'Endpoints', jobs: 'Jobs', keys: 'Keys' } as const;

function sectionOf({ page }: Route): keyof typeof sections | undefined {
  if (page === 'keys') return 'keys';
  if (page === 'job' || page === 'jobs') return 'jobs';
  return page === 'nowhere' ? undefined : 'overview';
}

/** What was known stays on the page. */
export function AwayNotice(): JSX.Element {
  const { awaySince } = useLink();
  return (
    <div role="status">
      {awaySince !== null && (
        <p class="message bad">
          The service does not answer since {hourWords(awaySince)}; trying again. What you see is as it was
          then.
        </p>
      )}
    </div>
  );
}
