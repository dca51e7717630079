/** The templates of projects. The build copies the files of each from `examples/`. */
export const templates = {
  blog: 'posts that anyone can read and their authors can edit',
  tracker: 'organisations, projects and tasks, with rules, actions, reactions and jobs',
  empty: 'accounts and sign-in only',
} as const

export type TemplateName = keyof typeof templates

export const defaultTemplate: TemplateName = 'blog'

/** The default comes first. */
export const templateNames = Object.keys(templates) as readonly TemplateName[]

export function isTemplate(name: string): name is TemplateName {
  return Object.hasOwn(templates, name)
}
