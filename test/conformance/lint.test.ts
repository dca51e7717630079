/** Linters of OpenAPI judge the documents: no error, and no warning but those that only an operator can answer. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { checkModel } from '../../src/model/check.ts'
import { openapi } from '../../src/rest/openapi/document.ts'
import { npmPackages } from '../clients/installed.ts'
import blog from '../models/blog.ts'
import rich from '../models/rich.ts'
import values from '../models/values.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-lint-'))
const models = { blog, rich, values }
let packages = ''

before(async () => {
  packages = await npmPackages('linters')
  writeFileSync(join(folder, 'ruleset.yaml'), 'extends: ["spectral:oas"]\n')
  for (const [name, declaration] of Object.entries(models)) {
    const document = openapi(checkModel(declaration), 'https://api.example.org')
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(document))
  }
})
after(() => rmSync(folder, { recursive: true, force: true }))

/** What a linter writes; it ends with 1 where it found errors. */
function lint(program: string, ...args: readonly string[]): Promise<string> {
  const environment = {
    PATH: process.env.PATH,
    HOME: folder,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  }
  const options = { cwd: folder, env: environment, maxBuffer: 2 ** 26, timeout: 300_000 }
  return new Promise((ended, failed) =>
    execFile(process.execPath, [join(packages, '.bin', program), ...args], options, (_, out, err) =>
      out.trim() === '' ? failed(new Error(err)) : ended(out),
    ),
  )
}

/** Who answers for the service, and under which licence, only its operator knows. */
const operators = ['info-contact', 'info-license']

/** Collections that the model says nothing about. */
const modelers = ['tag-description']

/** All errors of an operation are its `default` response, of which generators make one type. */
const ours = ['operation-4xx-response']

describe('the linters', () => {
  for (const name of Object.keys(models)) {
    it(`of Spectral find nothing in the document of ${name}`, async () => {
      const out = await lint(
        'spectral',
        'lint',
        `${name}.json`,
        '--ruleset',
        'ruleset.yaml',
        '--format',
        'json',
      )
      const found: readonly { readonly code: string }[] = JSON.parse(out.slice(0, out.lastIndexOf(']') + 1))
      assert.deepEqual(
        found.filter(({ code }) => !operators.includes(code)),
        [],
      )
    })

    it(`of Redocly find nothing in the document of ${name}`, async () => {
      const out = await lint(
        'redocly',
        'lint',
        `${name}.json`,
        '--extends',
        'recommended',
        '--format',
        'json',
      )
      const { problems, totals } = JSON.parse(out)
      assert.equal(totals.errors, 0)
      assert.deepEqual(
        problems.filter(
          ({ ruleId }: { ruleId: string }) => ![...operators, ...modelers, ...ours].includes(ruleId),
        ),
        [],
      )
    })
  }

  it('do find what is wrong', async () => {
    const document = JSON.stringify(openapi(checkModel(values), 'https://api.example.org'))
    writeFileSync(
      join(folder, 'wrong.json'),
      document.replaceAll('"items":{},', '').replace('"listThings"', '"getThing"'),
    )
    const spectral = await lint(
      'spectral',
      'lint',
      'wrong.json',
      '--ruleset',
      'ruleset.yaml',
      '--format',
      'json',
    )
    assert.match(spectral, /operation-operationId-unique/)
    const redocly = await lint(
      'redocly',
      'lint',
      'wrong.json',
      '--extends',
      'recommended',
      '--format',
      'json',
    )
    assert.match(redocly, /operation-operationId-unique/)
  })
})
