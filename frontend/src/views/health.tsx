export default function Health() {
  return <h1>Health</h1>;
}
