@0xb1a4c3d5e6f70819;

struct Elem {
  id @0 :Int32;
  material @1 :Int32;
  coord @2 :List(Float64);
  disp @3 :List(Float64);
  stress @4 :List(Float32);
  energy @5 :Float64;
  flags @6 :Int16;
  nodeCount @7 :Int16;
  temp @8 :Float32;
}

struct Mesh {
  step @0 :Int32;
  rank @1 :Int32;
  time @2 :Float64;
  dt @3 :Float64;
  meshId @4 :Int64;
  e @5 :List(Elem);
}

enum State {
  pending @0;
  running @1;
  done @2;
}

struct Sample {
  time @0 :UInt64;
  load @1 :Float64;
  resident @2 :UInt64;
  task @3 :UInt32;
  faults @4 :UInt32;
}

struct Report {
  job @0 :Text;
  host @1 :Text;
  sequence @2 :UInt64;
  status :union { noStatus @3 :Void; someStatus @4 :Int32; }
  limit :union { noLimit @5 :Void; someLimit @6 :Float64; }
  state @7 :State;
  samples @8 :List(Sample);
}
