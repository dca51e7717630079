/** The first request in several languages: a list that any caller can read, or the caller's own user; the first GraphQL query. */

import { anonymous } from '../../base/principal.ts'
import { staticRule } from '../../engine/plan/guard/guard.ts'
import { builtIn } from '../../identity/accounts/self-service/scope-choices.ts'
import { camelCase } from '../../model/check/names.ts'
import type { Collection, Field, Model } from '../../model/model.ts'

export interface Sample {
  readonly label: string
  /** The language for syntax highlighting. */
  readonly language: string
  readonly code: string
}

const lines = (...all: readonly (string | false)[]) => all.filter(line => line !== false).join('\n')

/** The first collection of which any caller can read items. */
function publicCollection(model: Model): Collection | undefined {
  const { access } = anonymous('')
  return [...model.collections.values()].find(
    candidate => staticRule(model, candidate, candidate.access.read, access) !== 'never',
  )
}

const shownFields = 3

/** A GraphQL query of a few items. */
function listQuery({ name, fields }: Collection): string {
  const isShown = ({ access, internal, writeOnly, reference, deprecated }: Field) =>
    access.read.kind === 'anyone' && !internal && !writeOnly && !reference && !deprecated
  const names = [...fields.values()].filter(isShown).map(field => camelCase(field.name))
  return lines(
    '{',
    `  ${camelCase(name)}(limit: 5) {`,
    ...names.slice(0, shownFields).map(text => `    ${text}`),
    '  }',
    '}',
  )
}

/** The query that the GraphQL explorer shows first. Everybody may run it. */
export function firstQuery(model: Model): string {
  const open = publicCollection(model)
  if (open) return lines('# Ctrl-Enter runs it, Ctrl-Space shows what else there is.', listQuery(open))
  const [example] = [...model.collections.values()].filter(({ name }) => !builtIn.has(name))
  return lines(
    '# Every collection needs a credential: sign in under /account, or set the header Authorization below.',
    ...(example
      ? [
          '# Then, for example:',
          ...listQuery(example)
            .split('\n')
            .map(line => `#   ${line}`),
        ]
      : []),
    '{',
    '  __typename',
    '}',
  )
}

interface Request {
  readonly url: string
  readonly call: string
  readonly needsKey: boolean
}

/** The path of the first request. */
export function firstPath(model: Model): string {
  return `/api/v1/${publicCollection(model)?.name ?? 'me'}`
}

function request(model: Model, origin: string): Request {
  const collection = publicCollection(model)?.name
  const url = origin + firstPath(model)
  return collection === undefined
    ? { url, call: 'api.me()', needsKey: true }
    : {
        url: `${url}?per_page=5`,
        call: `api.${collection}.list({ perPage: 5 })`,
        needsKey: false,
      }
}

/** `origin`: the address of the service, without a trailing slash. */
export function firstRequest(model: Model, origin: string): readonly Sample[] {
  const { url, call, needsKey } = request(model, origin)
  const result = needsKey ? 'user' : '{ data }'
  const curl = needsKey ? lines(`curl "${url}" \\`, '  -H "Authorization: Bearer $KEY"') : `curl "${url}"`
  const javascript = needsKey
    ? lines(
        `const response = await fetch('${url}', {`,
        "  headers: { Authorization: 'Bearer ' + key },",
        '})',
      )
    : `const response = await fetch('${url}')`
  const python = needsKey
    ? lines(`url = "${url}"`, 'response = requests.get(url, headers={"Authorization": f"Bearer {key}"})')
    : `response = requests.get("${url}")`
  const client = lines(
    '// api.ts is written by:',
    `// npx portico generate client --from ${origin}`,
    "import { createApi } from './api.ts'",
    '',
    `const api = createApi({ baseUrl: '${origin}'${needsKey ? ', token: key' : ''} })`,
    `const ${result} = await ${call}`,
  )
  return [
    { label: 'curl', language: 'sh', code: curl },
    {
      label: 'fetch',
      language: 'js',
      code: lines(javascript, `const ${result} = await response.json()`),
    },
    {
      label: 'Python',
      language: 'python',
      code: lines('import requests', '', python, 'print(response.json())'),
    },
    { label: 'Typed client', language: 'ts', code: client },
  ]
}
