/** The recipes, each in a folder of its own: the files in its blocks, and the data exported by the other system. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { blocksOf } from './blocks.ts'
import { isStepByStep, pages, read } from './pages.ts'

/** Pages with a model and its test. */
export const recipes = pages.filter(page => isStepByStep(page) && !page.startsWith('docs/tutorial'))

const nameOf = (page: string) => basename(page, '.md').replace('recipe-', '')

export const recipeFolder = (project: string, page: string): string => join(project, nameOf(page))

/** The tables created by PocketBase 0.29, without password hashes. */
function writePocketBase(folder: string): void {
  mkdirSync(join(folder, 'pb_data'))
  const database = new DatabaseSync(join(folder, 'pb_data', 'data.db'))
  database.exec(readFileSync(join(folder, 'database.sql'), 'utf8'))
  database.close()
}

export function writeRecipe(project: string, page: string): void {
  const folder = recipeFolder(project, page)
  const file = join(import.meta.dirname, 'exports', nameOf(page))
  mkdirSync(folder)
  if (existsSync(file)) cpSync(file, folder, { recursive: true })
  if (read(page).includes('pb_data/data.db')) writePocketBase(folder)
  for (const { language, text } of blocksOf(read(page))) {
    const name = /^\/\/ (\S+\.ts)\n/.exec(text)?.[1]
    if (language === 'ts' && name !== undefined) writeFileSync(join(folder, name), text)
  }
}
