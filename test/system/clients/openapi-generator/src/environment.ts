declare const process: {
  readonly env: Readonly<Record<string, string>>
  stdout: { write(text: string): void }
}

export const { SERVICE = '', TOKEN = '' } = process.env

export function write(results: unknown): void {
  process.stdout.write(JSON.stringify(results))
}
