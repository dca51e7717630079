/** All Markdown pages for users. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..', '..')

/** The pages of `docs/` and its subfolders, relative to the root. */
const inDocs = readdirSync(join(root, 'docs'), { recursive: true })
  .map(name => `docs/${String(name).replaceAll('\\', '/')}`)
  .filter(name => name.endsWith('.md'))
  .sort()

export const pages: readonly string[] = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...inDocs]

/**
 * Pages whose blocks depend on each other: `tutorial.test.ts` and `recipes.test.ts` run them in folders of their own.
 */
export const isStepByStep = (page: string) =>
  /^docs\/(tutorial|recipe|receive-a-webhook|take-payments)\b/.test(page)

export const read = (page: string): string => readFileSync(join(root, page), 'utf8')
