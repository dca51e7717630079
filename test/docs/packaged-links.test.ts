/** The pages in the npm package link only to files in it, and name other files of the repository by their path. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, it } from 'node:test'
import manifest from '../../package.json' with { type: 'json' }
import { pages, read, root } from './pages.ts'

/** npm always adds the last three. */
const packagedPaths: readonly string[] = [...manifest.files, 'README.md', 'LICENSE', 'package.json']
const isPackaged = (path: string) =>
  packagedPaths.some(packaged => path === packaged || path.startsWith(`${packaged}/`))

const packagedPages = [...pages, 'CHANGELOG.md'].filter(isPackaged)

/** The targets of Markdown's links and images, of reference definitions, and of HTML. */
const targetPattern = /\]\(<?([^)\s>]+)|^\[[^\]]+\]:\s*(\S+)|\b(?:href|src)="([^"]+)"/gm

function relativeTargets(text: string): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...prose.matchAll(targetPattern)]
    .map(([, inline, reference, html]) => inline ?? reference ?? html ?? '')
    .filter(target => !/^([a-z]+:|#)/.test(target))
}

describe('the links of a packaged page', () => {
  for (const page of packagedPages)
    it(`${page} lead to packaged files`, () => {
      const outside = relativeTargets(read(page)).filter(target => {
        const [path = ''] = target.split('#')
        return !isPackaged(posix.normalize(posix.join(posix.dirname(page), path)))
      })
      assert.deepEqual(outside, [])
    })

  it('are found in every notation', () => {
    const text = [
      '[a](a.md#b) ![c](<c.svg>) [d](#e) [f](https://f.example)',
      '[g]: g.md',
      '<img src="h.svg">',
      '```text\n[i](i.md)\n```',
    ].join('\n')
    assert.deepEqual(relativeTargets(text), ['a.md#b', 'c.svg', 'g.md', 'h.svg'])
  })
})

/** Paths in code, of folders that users of the package do not have. */
const repositoryPath = /`((?:src|test|examples|decisions|deploy|bench|scripts)\/[\w./-]+)`/g
/** Paths of sources in the decisions, which omit `src/`. */
const sourcePath = /`([\w-]+\/[\w./-]+\.\w+)`/g

describe('the paths of the repository', () => {
  const missingPaths = (page: string, pattern: RegExp, folders: readonly string[]) =>
    [...read(page).matchAll(pattern)]
      .map(([, path = '']) => path)
      .filter(path => !folders.some(folder => existsSync(join(root, folder, path))))

  for (const page of [...pages, 'CHANGELOG.md', 'ARCHITECTURE.md'])
    it(`that ${page} names exist`, () => {
      assert.deepEqual(missingPaths(page, repositoryPath, ['']), [])
    })

  it('that ARCHITECTURE.md names within src/ exist', () => {
    // Its walk of a grant stays within the authorization server.
    assert.deepEqual(missingPaths('ARCHITECTURE.md', sourcePath, ['', 'src', 'src/identity/server']), [])
  })

  for (const name of readdirSync(join(root, 'decisions')))
    it(`that decisions/${name} names exist`, () => {
      assert.deepEqual(missingPaths(`decisions/${name}`, sourcePath, ['', 'src', 'decisions']), [])
    })
})
