/** The pages of a user’s own keys, apps and webhooks, as a signed-in browser sees them. */
import assert from 'node:assert/strict'
import { mock } from 'node:test'
import type { Browser, Form, Page } from '../../conformance/browser.ts'
import type { Fixture, Person } from '../../conformance/server.ts'
import { formWithField, open, page } from '../mail-fixture.ts'

const realNow = Date.now.bind(Date)
let offsetMs = 0
mock.method(Date, 'now', () => realNow() + offsetMs)

/** Advances `Date.now` for the whole process. */
export function advance(milliseconds: number): void {
  offsetMs += milliseconds
}

export interface Visitor {
  readonly visitor: Browser
  readonly landed: Page
}

/** Signs in on the way to a page. */
export async function signIn(
  { browser }: Fixture,
  { email, password }: Pick<Person, 'email' | 'password'>,
  path: string,
): Promise<Visitor> {
  const visitor = browser()
  const first = await open(visitor, path)
  return {
    visitor,
    landed: page(await visitor.submit(formWithField(first, 'password'), { email, password })),
  }
}

/** The page's form for a path, and for a change where the path takes several. */
export function formTo({ forms, url, text }: Page, path: string, change?: string): Form {
  const found = forms.find(
    ({ action, fields }) =>
      action.pathname === path &&
      (change === undefined || fields.some(({ name, value }) => name === 'change' && value === change)),
  )
  assert.ok(found, `${url.pathname} has no form for ${path} ${change ?? ''}: ${text}`)
  return found
}

export async function submitForm(
  visitor: Browser,
  sent: Form,
  values: Parameters<Browser['submit']>[1] = {},
): Promise<Page> {
  return page(await visitor.submit(sent, values))
}

/** The value of an input. */
export function inputValue({ text }: Page, id: string): string | undefined {
  return new RegExp(`<input id="${id}"[^>]* value="([^"]*)"`).exec(text)?.[1]
}
