/** The OpenAPI document for readers: its examples match their schemas, its samples compile with the typed client. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, test } from 'node:test'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import blog from '../../../examples/blog/model.ts'
import tracker from '../../../examples/tracker/model.ts'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import { exampleValue } from '../../../src/api/rest/openapi/reference/example-values.ts'
import { Examples } from '../../../src/api/rest/openapi/reference/examples.ts'
import { referenceDocument } from '../../../src/api/rest/openapi/reference/reference.ts'
import { literal } from '../../../src/api/rest/openapi/reference/samples.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import type { JsonSchema, JsonValue } from '../../../src/model/fields/type.ts'
import { clientTypesOfModel } from '../../../src/tools/generate/generate.ts'
import { createProject } from '../../docs/project.ts'
import hostile from '../../models/hostile.ts'
import rich from '../../models/rich.ts'
import values from '../../models/values.ts'

const origin = 'https://api.example.com'
const models: Readonly<Record<string, Declaration>> = { blog, tracker, rich, values, hostile }

function documentOf(declaration: Declaration): JsonSchema {
  return referenceDocument(checkModel(declaration), undefined, origin)
}

interface Media {
  readonly place: string
  readonly schema: JsonSchema
  readonly example: JsonValue | undefined
}

/** Every JSON body in the value. */
function mediaIn(value: unknown, place = ''): Media[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) =>
    key === 'application/json' ? [{ place, ...member }] : mediaIn(member, `${place}/${key}`),
  )
}

describe('examples', () => {
  for (const [name, declaration] of Object.entries(models)) {
    it(`match their schemas: ${name}`, () => {
      const document = documentOf(declaration)
      const ajv = new Ajv2020({ strict: false, allErrors: true })
      formats.default(ajv)
      ajv.addSchema({ $id: `${origin}/`, ...document })
      const bodies = mediaIn({ paths: document['paths'], components: document['components'] })
      assert.ok(bodies.length > 20)
      for (const { place, schema, example } of bodies) {
        assert.notEqual(example, undefined, place)
        const pointed = JSON.parse(JSON.stringify(schema).replaceAll('"#/', `"${origin}/#/`))
        const isValid = ajv.validate(pointed, example)
        assert.ok(isValid, `${place}: ${JSON.stringify(example)} ${ajv.errorsText()}`)
      }
    })
  }

  it('do not change over time', () => {
    assert.equal(JSON.stringify(documentOf(tracker)), JSON.stringify(documentOf(tracker)))
  })

  it('do not change the document for programs', () => {
    const text = JSON.stringify(openapi(checkModel(tracker), undefined))
    assert.doesNotMatch(text, /x-codeSamples|Ada Lovelace/)
  })

  it('have no relations that only `include` adds', () => {
    const document = openapi(checkModel(tracker), undefined)
    const task = new Examples(document).of({ $ref: '#/components/schemas/Task' })
    assert.ok(typeof task === 'object' && task !== null && !('project' in task) && 'project_id' in task)
  })
})

test('example values follow the names and limits of fields', () => {
  const exampleOf = (name: string, schema: JsonSchema, owner = 'Thing') =>
    exampleValue({ name, owner }, schema)
  const text = { type: 'string' }
  assert.equal(exampleOf('email', text), 'ada@example.com')
  assert.equal(exampleOf('name', text, 'UserCreate'), 'Ada Lovelace')
  assert.equal(exampleOf('name', text, 'Project'), 'Website relaunch')
  assert.equal(exampleOf('price', { type: 'number' }), 19.9)
  assert.equal(exampleOf('price_cents', { type: 'integer' }), 1990)
  assert.equal(exampleOf('due_on', { type: 'string', format: 'date' }), '2026-03-23')
  assert.equal(exampleOf('created_at', { type: 'string', format: 'date-time' }), '2026-03-16T09:30:00.000Z')
  assert.equal(exampleOf('archived_at', { type: ['string', 'null'], format: 'date-time' }), null)
  assert.equal(exampleOf('is_done', { type: 'boolean' }), false)
  assert.equal(exampleOf('quantity', { type: 'integer', maximum: 2 }), 2)
  assert.equal(exampleOf('title', { type: 'string', maxLength: 5 }), 'Notes')
  assert.equal(exampleOf('initials', { type: 'string', pattern: '^[A-Z]{2}$' }), 'AB')
  assert.equal(exampleOf('initials', { type: 'string', pattern: '^[A-Z]{9}$' }), undefined)
})

test('values in samples are TypeScript literals', () => {
  const hostileText = `'; process.exit(1) //\n\\ \` \${x} \u2028 </script>`
  const value = { plain: 1, 'two words': [true, null, 'a'], nested: { text: hostileText }, none: {} }
  assert.deepEqual(new Function(`return ${literal(value)}`)(), value)
})

/** A function that contains every sample of the document. */
function programOf(document: JsonSchema, api: string): string {
  const samples = Object.values(document['paths'] as Record<string, Record<string, JsonSchema>>)
    .flatMap(item => Object.values(item))
    .flatMap(operation => (operation['x-codeSamples'] ?? []) as { source: string }[])
  assert.ok(samples.length > 40)
  const bodies = samples.map(({ source }) => `async () => {\n${source}}`)
  return `import { createAccountClient } from 'portico/client'
import { createApi } from './${api}'
declare const token: string
export const samples = [
${bodies.join(',\n')}
]
`
}

test('every sample of the typed client compiles', async () => {
  const root = join(import.meta.dirname, '..', '..', '..')
  const project = createProject(root)
  try {
    for (const [name, declaration] of Object.entries({ blog, tracker })) {
      writeFileSync(join(project, `${name}-api.ts`), clientTypesOfModel(checkModel(declaration), 'model.ts'))
      writeFileSync(join(project, `${name}.ts`), programOf(documentOf(declaration), `${name}-api.ts`))
    }
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2024']
    const lookup = [
      '--module',
      'nodenext',
      '--allowImportingTsExtensions',
      '--customConditions',
      'portico-source',
    ]
    const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules', '@types')]
    const files = ['blog.ts', 'tracker.ts']
    await promisify(execFile)(process.execPath, [compiler, ...options, ...lookup, ...types, ...files], {
      cwd: project,
    }).catch(({ stdout }) => assert.fail(stdout))
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
})
