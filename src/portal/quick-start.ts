/** The first request in several languages: a list that anybody may read, or the caller's own user. */
import type { Model } from '../model/model.ts'
import { staticRule } from '../plan/guard.ts'
import { anonymous } from '../principal.ts'

export interface Sample {
  readonly label: string
  /** The language for syntax highlighting. */
  readonly language: string
  readonly code: string
}

function publicCollection(model: Model): string | undefined {
  const { access } = anonymous('')
  const collection = [...model.collections.values()].find(
    candidate => staticRule(model, candidate, candidate.access.read, access) !== 'never',
  )
  return collection?.name
}

interface Request {
  readonly url: string
  readonly call: string
  readonly needsKey: boolean
}

/** The path of the first request. */
export function firstPath(model: Model): string {
  return `/api/v1/${publicCollection(model) ?? 'me'}`
}

function request(model: Model, origin: string): Request {
  const collection = publicCollection(model)
  const url = origin + firstPath(model)
  return collection === undefined
    ? { url, call: 'api.me()', needsKey: true }
    : {
        url: `${url}?per_page=5`,
        call: `api.${collection}.list({ perPage: 5 })`,
        needsKey: false,
      }
}

const lines = (...all: readonly (string | false)[]) => all.filter(line => line !== false).join('\n')

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
