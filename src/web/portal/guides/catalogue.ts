/** The guides of `docs/`, with their titles and audience. */
import type { Visitor } from '../../pages/frame/layout.ts'

export type Audience = 'callers' | 'operators'

export interface Guide {
  /** The file's name without `.md`, and the last segment of its path. */
  readonly slug: string
  readonly title: string
  readonly description: string
  readonly audience: Audience
}

/** The guides that everybody sees. `callers`: those for developers of clients; `all`: also those for operators. */
export type ShownGuides = 'none' | 'callers' | 'all'

type Row = readonly [slug: string, title: string, description: string]

/** For developers of clients. */
const callers: readonly Row[] = [
  ['credentials', 'Credentials', 'API keys, and who may do what'],
  ['accounts', 'Accounts', 'Sign-up, sign-in, passkeys and recovery'],
  ['rest', 'REST', 'Every request and response'],
  ['graphql', 'GraphQL', 'Queries, mutations, subscriptions and limits'],
  ['graphql-schema', 'The GraphQL schema', 'Types, filters, order, connections and mutations'],
  ['client', 'The typed client', 'TypeScript: lists, writes and events, with retries built in'],
  ['generate-client', 'Generated types', 'The typed client for those who have only an address'],
  ['oauth', 'OAuth', 'Third-party apps and OpenID Connect'],
  ['events', 'Events', 'Changes as JSON pages, by long poll or as server-sent events'],
  ['webhooks', 'Webhooks', 'Signed events, sent to your address'],
  ['limits', 'Limits', 'Rate limits and size limits'],
]

/** For people who declare the model and operate the service. */
const operators: readonly Row[] = [
  ['create', 'A new project', 'Templates, and what is in them'],
  ['development', 'Development', 'Reload, faults and addresses while you build'],
  ['tutorial', 'Tutorial', 'A tracker, step by step from nothing'],
  ['model', 'The model', 'Collections, fields, relations and rules'],
  ['files', 'Files', 'Fields that hold a file, uploads, and where the bytes are'],
  ['actions', 'Actions and queries', 'Operations over several items, in one transaction'],
  ['reactions', 'Reactions and jobs', 'Work after a change, and at set times'],
  ['transactions', 'What is a transaction', 'And what is not'],
  ['seeds', 'Seeds', 'Sample data, and what a product needs to begin'],
  ['testing', 'Tests of a model', 'A service in memory, with a clock that tests set'],
  ['recipes', 'Recipes', 'Tenancy, invitations, soft delete, uploads, search'],
  ['migrations', 'Migrations', 'Changing a model that has data'],
  ['pages', 'Pages for developers', 'What `/` and `/docs` show, and to whom'],
  ['partners', 'Partners', 'Other companies’ apps: who did what, and limits'],
  ['sign-in-with-others', 'Sign-in with others', 'Google, GitHub, Microsoft, Apple, and any issuer'],
  ['mail', 'Mail', 'The mails, their languages, and texts of your own'],
  ['receive-a-webhook', 'Receive a webhook', 'Routes of your own, for what others call'],
  ['take-payments', 'Take payments', 'A route, a transaction and a job, with Stripe'],
  ['running', 'Running it', 'Settings, logs, health and shutdown'],
  ['configuration', 'Settings', 'Every setting'],
  ['postgresql', 'PostgreSQL', 'Many nodes on one database'],
  ['nodes', 'Several nodes', 'What nodes share, and what happens without Redis'],
  ['operations', 'Operations', 'Containers, upgrades, backup, keys and monitoring'],
  ['metrics', 'Metrics', 'Every metric'],
  ['copy', 'Moving a database', 'From SQLite to PostgreSQL and back'],
  ['import-export', 'Import and export', 'CSV and NDJSON of any size'],
  ['performance', 'Performance', 'What was measured, and how'],
  ['troubleshooting', 'Troubleshooting', 'Symptoms, causes and what to do'],
  ['upgrades', 'Upgrades', 'What stays the same, and for how long'],
  ['when-not', 'When not to use Portico', 'What it does not do, and what does'],
]

function guide(audience: Audience): (row: Row) => Guide {
  return ([slug, title, description]) => ({ slug, title, description, audience })
}

const catalogue: readonly Guide[] = [...callers.map(guide('callers')), ...operators.map(guide('operators'))]

/** Files of `docs/` that are not guides: the list of all guides, and the errors, which have their own page. */
const otherPages: ReadonlySet<string> = new Set(['README', 'errors'])

/**
 * The guides that a visitor sees, in the order of the navigation. `files`: the names of files in `docs/` without `.md`, each
 * with its first heading. Files that are not in the tables are for operators, and come last.
 */
export function guidesFor(
  visitor: Visitor,
  shown: ShownGuides,
  files: ReadonlyMap<string, string>,
): readonly Guide[] {
  if (shown === 'none') return []
  const listedSlugs = new Set(catalogue.map(({ slug }) => slug))
  const others = [...files]
    .filter(([slug]) => !listedSlugs.has(slug) && !otherPages.has(slug))
    .map(([slug, title]) => guide('operators')([slug, title, '']))
  const isShown = ({ audience }: Guide) => audience === 'callers' || shown === 'all' || visitor === 'admin'
  return [...catalogue.filter(({ slug }) => files.has(slug)), ...others].filter(isShown)
}
