/** How many types a compiler creates for a program that uses a model's types: millions of them take minutes and gigabytes. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { limits, npmPackages } from './installed.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const maxTypes = 200_000

const collectionAt = (index: number) => `
  c${index}s: collection({
    fields: {
      name: text(),
      state: choice(['open', 'done']),
      done_at: datetime({ readOnly: true, optional: true }),
      owner_id: relation('users', { default: currentUser, inverse: 'c${index}s' }),
      ${index === 0 ? '' : `parent_id: relation('c${index - 1}s', { inverse: 'children' }),`}
    },
    access: { read: owner('owner_id').or(role('admin')), create: signedIn, update: owner('owner_id') },
  }),`

const actionAt = (index: number) => `
  close${index}: action({
    on: 'c${index}s',
    input: { other: item('c${index}s') },
    output: item('c${index}s'),
    access: owner('owner_id'),
    run: async ({ item, data, input }) => data.c${index}s.update(item.id, { name: input.other.name }),
  }),`

const routeAt = (index: number) => `
  hook${index}: route({
    path: 'c${index}s/:id',
    input: { name: text() },
    access: anyone,
    run: async ({ data, input, once, request }) => {
      await once(request.params.id, inner => inner.asSystem.c${index}s.update(1, { name: input.name }))
      return { body: await data.c${index}s.list() }
    },
  }),`

const jobAt = (index: number) => `
  job${index}: job({
    input: { id: integer() },
    run: async ({ input, once }) => void (await once(data => data.c${index}s.delete(input.id))),
  }),`

const indices = Array.from({ length: 40 }, (_, index) => index)

const models = {
  empty: `import { model } from 'portico'\nexport default model({})\n`,
  large: `import {
  action, anyone, choice, collection, currentUser, datetime, integer, item, job, model, owner, relation, role, route,
  signedIn, text
} from 'portico'
export default model({${indices.map(collectionAt).join('')}
}, {
  actions: {${indices.map(actionAt).join('')}},
  routes: {${indices.map(routeAt).join('')}},
  jobs: {${indices.map(jobAt).join('')}},
})
`,
}

const inPromises = (type: string) => `
declare const promise: Promise<${type}>
export const value = await promise.then(value => value)
export const [first] = await Promise.all([value])
export const named = (part: Pick<${type}, 'users'>) => part.users
named(value)
`

/** What a program does with the types of a model `M`. */
const uses: Readonly<Record<string, string>> = {
  client: `import type { Client } from 'portico/client'${inPromises('Client<M>')}`,
  data: `import type { Data } from 'portico'${inPromises('Data<M>')}`,
  'data of the service': `import type { Data, SystemData } from 'portico'${inPromises('SystemData<M>')}
export const asUser: Data<M> = value
// @ts-expect-error What a user may not read is missing.
export const asService: SystemData<M> = asUser
`,
  filters: `import type { Where } from 'portico'
import type { WhereOf } from 'portico/client'
declare const promises: [Promise<Where<M, 'users'>>, Promise<WhereOf<M, 'users'>>]
export const first = await promises[0].then(where => where)
export const second = await promises[1].then(where => where)
`,
  testService: `import { testService } from 'portico/test'
export const [service] = await Promise.all([testService(model)])
export const ada = await service.users.create({ name: 'Ada' }).then(user => service.as(user))
export const data = await Promise.resolve(service.asSystem).then(data => data)
await ada.users.list({ where: { name: 'Ada' } })
await data.users.list({ where: { name: 'Ada' } })
`,
}

let project = ''
let old = ''
before(async () => {
  project = mkdtempSync(join(tmpdir(), 'portico-types-'))
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(root, join(project, 'node_modules', 'portico'))
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  for (const [name, text] of Object.entries(models)) writeFileSync(join(project, `${name}.ts`), text)
  old = await npmPackages('generators')
})
after(() => rmSync(project, { recursive: true, force: true }))

const options = [
  ...['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck'],
  ...['--target', 'es2024', '--lib', 'es2024,dom', '--module', 'nodenext', '--allowImportingTsExtensions'],
  ...['--types', 'node', '--typeRoots', join(root, 'node_modules', '@types'), '--extendedDiagnostics'],
]

async function countTypes(
  packages: string,
  args: readonly string[],
  files: readonly string[],
): Promise<number> {
  const compiler = join(packages, 'typescript', 'bin', 'tsc')
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, ...options, ...args, ...files], {
    ...limits,
    cwd: project,
  }).catch(({ stdout, message }) => assert.fail(stdout || message))
  return Number(stdout.match(/^Types:\s+(\d+)/m)?.[1])
}

const compilers = [
  // Otherwise several checkers would count the same types.
  { name: 'TypeScript 7', packages: () => join(root, 'node_modules'), args: ['--singleThreaded'] },
  { name: 'TypeScript 5.9', packages: () => old, args: [] },
]

/** Writes the programs. Returns the names of their files. */
function writePrograms(model: string): readonly string[] {
  return Object.entries(uses).map(([use, text]) => {
    const file = `${model}-${use.replaceAll(' ', '-')}.ts`
    writeFileSync(join(project, file), `import model from './${model}.ts'\ntype M = typeof model\n${text}`)
    return file
  })
}

for (const { name, packages, args } of compilers) {
  describe(name, () => {
    for (const model of Object.keys(models)) {
      it(`creates few types for ${Object.keys(uses).join(', ')} together, with the ${model} model`, async () => {
        const types = await countTypes(packages(), args, writePrograms(model))
        assert.ok(types > 0 && types < maxTypes, `${types} types`)
      })
    }
  })
}
