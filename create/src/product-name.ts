/** What people call the product: on the pages for sign-in and consent, and in mails. */

const maxLength = 60

/** `my-app` → `My app`. */
export function suggestedProductName(projectName: string): string {
  const words = projectName
    .replaceAll(/[-_.]+/g, ' ')
    .trim()
    .slice(0, maxLength)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Why people cannot be shown the name; undefined if they can. */
export function productNameFault(name: string): string | undefined {
  if (name.trim() !== '' && name.length <= maxLength && !/\p{C}/u.test(name)) return undefined
  return `The name of a product has 1 to ${maxLength} characters, all of them visible: ${JSON.stringify(name.slice(0, 80))} is none.`
}
